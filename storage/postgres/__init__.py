"""Memories in PostgreSQL with pgvector, every tenant behind row-level security."""

from storage.postgres.migrate import migrate
from storage.postgres.store import PostgresStore

__all__ = ["PostgresStore", "migrate"]
