"""One SQLite file: opened, brought up to date, written and read in transactions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.statements import migrations

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's; a batch takes milliseconds, a big one a second."""

WRITTEN_LATER = {12, 13}
"""Files that say they are at 14 do not have these yet."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a file, creating it or bringing its schema up to date where needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    database.execute("PRAGMA journal_mode = WAL")
    # In WAL mode this cannot corrupt the file; only a power cut may undo the last commits,
    # and those items come again because their offsets are committed later.
    database.execute("PRAGMA synchronous = NORMAL")
    _migrate(database)
    return database


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextmanager
def reading(database: sqlite3.Connection) -> Iterator[None]:
    """Let all reads see the same moment, whatever other processes write meanwhile."""
    database.execute("BEGIN")
    try:
        yield
    finally:
        database.execute("ROLLBACK")


def _migrate(database: sqlite3.Connection) -> None:
    # The write lock is held from reading the ledger on: processes migrate one by one.
    with writing(database):
        database.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY)")
        applied = {version for (version,) in database.execute("SELECT version FROM migrations")}
        # Files of earlier versions say only how far they are.
        until = 0 if applied else database.execute("PRAGMA user_version").fetchone()[0]
        for version, _, sql in migrations("storage.sqlite"):
            if version in applied:
                continue
            if version > until or version in WRITTEN_LATER:
                for statement in _split(sql):
                    database.execute(statement)
            database.execute("INSERT INTO migrations VALUES (?)", (version,))
            # For earlier versions, which would begin anew.
            database.execute(f"PRAGMA user_version = {max(version, until)}")


def _split(script: str) -> Iterator[str]:
    """Yield the statements of a script; sqlite3's own executescript would end our transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
