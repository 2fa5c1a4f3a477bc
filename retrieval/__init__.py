"""How memories are written and found: embedding, search and everything that ranks."""
