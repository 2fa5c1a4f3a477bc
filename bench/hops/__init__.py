"""Fits the weights of the second ranking, after recursive decomposition."""
