"""Fits the weights that every tenant's ranker starts from."""
