"""Retrieval quality on a dataset: which of the memories that answer a question are found."""
