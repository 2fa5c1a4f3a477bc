"""How a tenant's retrieval policy gets better: outcomes, rewards, and what is learned from them."""
