"""Parts that memstream starts by itself: brokers and databases that live as long as it does."""
