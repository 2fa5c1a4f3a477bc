"""The learning loop on a dataset: simulated users, the real retrieval, the real learning."""
