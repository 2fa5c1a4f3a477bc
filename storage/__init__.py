"""Where memories live: one protocol, two stores (PostgreSQL with pgvector, embedded SQLite)."""

from storage.counts import Counts, Use
from storage.protocol import (
    MAX_RELATED,
    Change,
    Embedding,
    Filter,
    Found,
    Hit,
    Related,
    Sought,
    Store,
    StoreError,
    StoreUnavailableError,
)
from storage.words import Asked

__all__ = [
    "MAX_RELATED",
    "Asked",
    "Change",
    "Counts",
    "Embedding",
    "Filter",
    "Found",
    "Hit",
    "Related",
    "Sought",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "Use",
]
