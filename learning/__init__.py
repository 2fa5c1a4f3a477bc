"""How a tenant's retrieval policy gets better: outcomes and rewards; trainers are to come."""
