"""The embedded store: SQLite in WAL mode for the truth, numpy matrices for the search."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from storage.protocol import Change, Embedding, Hit, StoreUnavailableError, last_of_each_memory
from storage.sqlite.vectors import Row, TenantVectors
from storage.statements import migrations, statements

_SQL = statements("storage.sqlite")

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's; a batch takes milliseconds, a big one a second."""

T = TypeVar("T")


class SqliteStore:
    """Memories in one file; all its work is done in one thread, so nothing needs a lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._vectors: dict[tuple[str, str], TenantVectors] = {}

    @classmethod
    async def open(cls, path: Path) -> "SqliteStore":
        """Open the file, creating it or bringing its schema up to date where needed."""
        store = cls(path)
        await store._run(store._connect)
        return store

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction, each event once."""
        await self._run(lambda: self._apply(changes))

    async def nearest(
        self,
        tenant_id: str,
        query: Embedding,
        *,
        limit: int,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
    ) -> list[Hit]:
        """Return the tenant's memories nearest to the query, best first."""
        return await self._run(lambda: self._nearest(tenant_id, query, limit, layers, scope))

    async def ping(self) -> None:
        """Return if the file can be read."""
        await self._run(lambda: self._database.execute("SELECT last FROM changes").fetchone())

    async def close(self) -> None:
        """Close the file."""
        await self._run(lambda: self._database.close())
        self._thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.OperationalError as error:
            raise StoreUnavailableError(f"{self._path} cannot be used: {error}") from error

    def _connect(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        self._database.execute("PRAGMA journal_mode = WAL")
        # In WAL mode this cannot corrupt the file; only a power cut may undo the last commits,
        # and those items come again because their offsets are committed later.
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._migrate()

    def _migrate(self) -> None:
        # The write lock is held from reading the version on: processes migrate one by one.
        with self._transaction():
            have = self._database.execute("PRAGMA user_version").fetchone()[0]
            for version, _, sql in migrations("storage.sqlite"):
                if version > have:
                    for statement in _split(sql):
                        self._database.execute(statement)
                    self._database.execute(f"PRAGMA user_version = {version}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _apply(self, changes: Sequence[Change]) -> None:
        with self._transaction():
            new = [change for change in changes if self._is_new(change)]
            number = self._database.execute(_SQL["next_change"]).fetchone()[0]
            for change in last_of_each_memory(new):
                self._write(change, number)

    def _is_new(self, change: Change) -> bool:
        seen = (change.item.tenant_id, "items", change.item.event_id, _text(change.received_at))
        return self._database.execute(_SQL["mark_seen"], seen).rowcount == 1

    def _write(self, change: Change, number: int) -> None:
        item = change.item
        if item.op == "delete":
            self._database.execute(_SQL["delete_memory"], (number, item.tenant_id, item.memory_id))
        else:
            self._database.execute(_SQL["upsert_memory"], _row(change, number))

    def _nearest(
        self,
        tenant_id: str,
        query: Embedding,
        limit: int,
        layers: Sequence[str] | None,
        scope: str | None,
    ) -> list[Hit]:
        vectors = self._up_to_date(tenant_id, query.model)
        found = dict(vectors.nearest(query.vector, limit, layers, scope))
        rows = self._database.execute(
            _SQL["memories_by_row"], (tenant_id, json.dumps(list(found)))
        ).fetchall()
        by_row = {row[0]: _hit(row, found[row[0]]) for row in rows}
        return [by_row[row_id] for row_id in found if row_id in by_row]

    def _up_to_date(self, tenant_id: str, model: str) -> TenantVectors:
        vectors = self._vectors.setdefault((tenant_id, model), TenantVectors())
        changed = self._database.execute(_SQL["changed_since"], (tenant_id, vectors.change))
        for row_id, memory_id, change, layer, scope, kind, created_at, of, blob in changed:
            if of == model:
                row = Row(row_id, memory_id, layer, scope, kind, created_at)
                vectors.put(row, np.frombuffer(blob, np.float32))
            else:
                vectors.remove(row_id)
            vectors.change = change
        return vectors


def _split(script: str) -> Iterator[str]:
    """Yield the statements of a script; sqlite3's own executescript would end our transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _row(change: Change, number: int) -> tuple[Any, ...]:
    item, embedding = change.item, change.embedding
    return (
        *(item.tenant_id, item.memory_id, number, item.layer, item.scope, item.kind),
        *(item.content, item.importance, item.confidence, item.decay_rate, item.session_id),
        *(item.position, json.dumps(item.entities or {}), item.source_path),
        *(json.dumps(item.metadata or {}), _text(change.created_at)),
        _text(item.last_confirmed_at or change.created_at),
        *((embedding.model, embedding.vector.tobytes()) if embedding else (None, None)),
    )


def _hit(row: tuple[Any, ...], similarity: float) -> Hit:
    _, memory_id, layer, scope, kind, content, created_at, metadata = row
    return Hit(
        *(memory_id, layer, scope, kind, content, datetime.fromisoformat(created_at)),
        *(json.loads(metadata), similarity),
    )


def _text(moment: datetime) -> str:
    # One zone and a fixed width, so that text sorts as time does.
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
