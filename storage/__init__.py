"""Where memories live: one protocol, two stores (PostgreSQL with pgvector, embedded SQLite)."""

from storage.protocol import (
    Change,
    Embedding,
    Filter,
    Hit,
    Store,
    StoreError,
    StoreUnavailableError,
)

__all__ = ["Change", "Embedding", "Filter", "Hit", "Store", "StoreError", "StoreUnavailableError"]
