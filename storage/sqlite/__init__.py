"""Memories in one SQLite file, searched exactly with numpy: the embedded store."""

from storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
