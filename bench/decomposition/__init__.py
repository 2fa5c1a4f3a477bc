"""What routing, decomposition and two lanes cost, and that they hold when a model does not."""
