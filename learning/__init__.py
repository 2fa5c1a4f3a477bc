"""How a tenant's retrieval policy gets better: rewards, trainers, evaluation. Nothing yet."""
