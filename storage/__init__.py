"""Where memories live: one protocol, two stores (PostgreSQL with pgvector, embedded SQLite)."""

from storage.counts import Counts, Use
from storage.protocol import (
    Change,
    Embedding,
    Filter,
    Found,
    Hit,
    Sought,
    Store,
    StoreError,
    StoreUnavailableError,
)
from storage.words import Asked

__all__ = [
    "Asked",
    "Change",
    "Counts",
    "Embedding",
    "Filter",
    "Found",
    "Hit",
    "Sought",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "Use",
]
