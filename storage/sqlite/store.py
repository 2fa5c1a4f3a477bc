"""The embedded store: SQLite in WAL mode for the truth, numpy matrices for the search."""

import asyncio
import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import JsonValue

from models import TenantOverrides
from models.memories import GLOBAL_SCOPE
from storage.overrides import read_overrides, split_changes
from storage.protocol import (
    MAX_FADING,
    Change,
    Embedding,
    Filter,
    Hit,
    StoreUnavailableError,
    last_of_each_memory,
)
from storage.sqlite.containment import contains
from storage.sqlite.vectors import DAY_S, Row, TenantVectors
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
        self, tenant_id: str, query: Embedding, among: Filter, limit: int
    ) -> list[Hit]:
        """Return the tenant's memories nearest to the query, best first."""
        return await self._run(lambda: self._nearest(tenant_id, query, among, limit))

    async def get(self, tenant_id: str, memory_ids: Sequence[str], among: Filter) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for."""
        return await self._run(lambda: self._get(tenant_id, memory_ids, among))

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""
        await self._run(lambda: self._refer(tenant_id, request_id, memory_ids, at))

    async def references(
        self, tenant_id: str, memory_ids: Sequence[str]
    ) -> dict[str, tuple[int, datetime | None]]:
        """Return how often, and when last, each memory was returned."""
        return await self._run(lambda: self._references(tenant_id, memory_ids))

    async def overrides(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way."""
        return read_overrides(tenant_id, await self._run(lambda: self._overrides(tenant_id)))

    async def override(self, tenant_id: str, changes: Mapping[str, JsonValue]) -> TenantOverrides:
        """Set the keys given, remove those given as None, and return what the tenant then has."""
        return await self._run(lambda: self._override(tenant_id, *split_changes(changes)))

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
            new = [
                change
                for change in changes
                if self._is_new(
                    change.item.tenant_id, "items", change.item.event_id, change.received_at
                )
            ]
            number = self._database.execute(_SQL["next_change"]).fetchone()[0]
            for change in last_of_each_memory(new):
                self._write(change, number)

    def _is_new(self, tenant_id: str, consumer: str, event_id: str, at: datetime) -> bool:
        seen = (tenant_id, consumer, event_id, _text(at))
        return self._database.execute(_SQL["mark_seen"], seen).rowcount == 1

    def _write(self, change: Change, number: int) -> None:
        item = change.item
        if item.op == "delete":
            self._database.execute(_SQL["delete_memory"], (number, item.tenant_id, item.memory_id))
        else:
            self._database.execute(_SQL["upsert_memory"], _row(change, number))

    def _nearest(self, tenant_id: str, query: Embedding, among: Filter, limit: int) -> list[Hit]:
        vectors = self._up_to_date(tenant_id, query.model)
        row_ids = None if among.metadata is None else self._containing(tenant_id, among.metadata)
        found = dict(vectors.nearest(query.vector, among, row_ids, limit))
        rows = self._select("memories_by_row", tenant_id, list(found))
        by_row = {row[0]: _hit(row, found[row[0]]) for row in rows}
        return [by_row[row_id] for row_id in found if row_id in by_row]

    def _get(self, tenant_id: str, memory_ids: Sequence[str], among: Filter) -> list[Hit]:
        rows = self._select("memories_by_id", tenant_id, list(memory_ids))
        by_id = {row[1]: _hit(row[:9], None) for row in rows if _fits(row, among)}
        return [by_id[memory_id] for memory_id in dict.fromkeys(memory_ids) if memory_id in by_id]

    def _refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        with self._transaction():
            if self._is_new(tenant_id, "references", request_id, at):
                self._database.execute(
                    _SQL["refer"], (_text(at), tenant_id, json.dumps(list(memory_ids)))
                )

    def _references(
        self, tenant_id: str, memory_ids: Sequence[str]
    ) -> dict[str, tuple[int, datetime | None]]:
        return {
            memory_id: (count, datetime.fromisoformat(at) if at else None)
            for memory_id, count, at in self._select("references", tenant_id, list(memory_ids))
        }

    def _overrides(self, tenant_id: str) -> dict[str, JsonValue]:
        row = self._database.execute(_SQL["overrides"], (tenant_id,)).fetchone()
        stored: dict[str, JsonValue] = json.loads(row[0]) if row else {}
        return stored

    def _override(
        self, tenant_id: str, kept: dict[str, JsonValue], removed: list[str]
    ) -> TenantOverrides:
        with self._transaction():
            merged = self._overrides(tenant_id) | kept
            left = {key: value for key, value in merged.items() if key not in removed}
            self._database.execute(_SQL["override"], (tenant_id, json.dumps(left)))
            return read_overrides(tenant_id, left)

    def _select(self, statement: str, tenant_id: str, ids: list[Any]) -> list[tuple[Any, ...]]:
        return self._database.execute(_SQL[statement], (tenant_id, json.dumps(ids))).fetchall()

    def _containing(self, tenant_id: str, metadata: Mapping[str, Any]) -> set[int]:
        rows = self._database.execute(_SQL["metadata"], (tenant_id,))
        return {row_id for row_id, text in rows if contains(json.loads(text), metadata)}

    def _up_to_date(self, tenant_id: str, model: str) -> TenantVectors:
        vectors = self._vectors.setdefault((tenant_id, model), TenantVectors())
        changed = self._database.execute(_SQL["changed_since"], (tenant_id, vectors.change))
        for *columns, change, of, blob in changed:
            row = Row(*columns)
            if of == model:
                vectors.put(row, np.frombuffer(blob, np.float32))
            else:
                vectors.remove(row.row_id)
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


def _hit(row: tuple[Any, ...], similarity: float | None) -> Hit:
    _, memory_id, layer, scope, kind, content, source_path, created_at, metadata = row
    return Hit(
        *(memory_id, layer, scope, kind, content, source_path),
        *(datetime.fromisoformat(created_at), json.loads(metadata), similarity),
    )


def _fits(row: tuple[Any, ...], among: Filter) -> bool:
    _, _, layer, scope, kind, *_, metadata, confidence, decay_rate, confirmed_at = row
    days = max((among.at - datetime.fromisoformat(confirmed_at)).total_seconds() / DAY_S, 0)
    shared = scope == GLOBAL_SCOPE and kind != "episode"
    return (
        (among.layers is None or layer in among.layers)
        and (among.scope is None or scope == among.scope or shared)
        and confidence * math.exp(-min(decay_rate * days, MAX_FADING)) >= among.min_confidence
        and (among.metadata is None or contains(json.loads(metadata), among.metadata))
    )


def _text(moment: datetime) -> str:
    # One zone and a fixed width, so that text sorts as time does.
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
