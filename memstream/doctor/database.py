"""The store that is configured: a file, a server that `up` starts, or one that runs somewhere."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from memstream.addresses import sqlite_path
from memstream.doctor.finding import Finding, fail, ok, warn
from memstream.doctor.postgres import examine_postgres
from memstream.settings import Settings
from storage.statements import migrations

DATABASE: Final = "database"
CHECK_S: Final = 4.0
"""So long a file is read for what is broken in it."""

_STEPS: Final = 10_000
"""Instructions of SQLite between two looks at the clock."""


async def examine_database(settings: Settings, clock: Callable[[], datetime]) -> Sequence[Finding]:
    """Tell how the configured database is."""
    if settings.database == "embedded":
        return [await asyncio.to_thread(_file, sqlite_path(settings))]
    if settings.database == "embedded-postgres":
        return [ok(DATABASE, "embedded-postgres starts with `memstream up`")]
    return await examine_postgres(settings.database, clock)


def _file(path: Path) -> Finding:
    if not path.exists():
        return ok(DATABASE, f"{path} is made at the first start")
    deadline = time.monotonic() + CHECK_S
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            (schema,) = database.execute("PRAGMA user_version").fetchone()
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            database.close()
    except sqlite3.OperationalError as error:
        if time.monotonic() > deadline:
            return ok(DATABASE, f"{path} is too large to be read whole here; its start is sound")
        return fail(DATABASE, f"{path}: {error}", "see who may read it, and who else has it open")
    except sqlite3.DatabaseError as error:
        return _damaged(path, str(error))
    if found != "ok":
        return _damaged(path, str(found))
    known = migrations("storage.sqlite")[-1][0]
    if schema > known:
        what = f"{path} has schema {schema}, but this memstream only knows those up to {known}"
        return fail("schema", what, "upgrade memstream")
    if schema < known:
        what = f"{path} has schema {schema}, not {known}"
        return warn("schema", what, "run `memstream migrate`, or `memstream up`, which does it too")
    return ok(DATABASE, f"{path} is sound, schema {schema}")


def _damaged(path: Path, why: str) -> Finding:
    remedy = "put back a copy, or move it away (with -wal and -shm) and import the memories again"
    return fail(DATABASE, f"{path} is damaged ({' '.join(why.split())})", remedy)
