"""The embedded store: SQLite in WAL mode for the truth, numpy matrices for the search."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import JsonValue

from models import TenantOverrides
from storage.counts import Counts, Use
from storage.overrides import read_overrides, split_changes
from storage.protocol import (
    Change,
    Embedding,
    Filter,
    Found,
    Hit,
    Related,
    Sought,
    StoreUnavailableError,
    last_of_each_memory,
)
from storage.sqlite.containment import contains
from storage.sqlite.database import connect, reading, writing
from storage.sqlite.entities import having, related
from storage.sqlite.full_text import Matches, Words
from storage.sqlite.hits import found_hit, memory_row, plain_hit, row_fits
from storage.sqlite.index import TenantIndex
from storage.sqlite.joins import SqliteJoins
from storage.sqlite.policies import SqlitePolicies
from storage.sqlite.pool import Pool
from storage.sqlite.rows import Row, as_moment, as_text
from storage.statements import statements

_SQL = statements("storage.sqlite")

T = TypeVar("T")


class SqliteStore:
    """Memories in one file; all its work is done in one thread, so nothing needs a lock."""

    def __init__(self, path: Path, full_text: bool) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._indexes: dict[tuple[str, str | None], TenantIndex] = {}
        self._full_text = full_text
        self.joins = SqliteJoins(self._run, lambda: self._database)
        self.policies = SqlitePolicies(self._run, lambda: self._database)

    @classmethod
    async def open(cls, path: Path, *, full_text: bool = True) -> "SqliteStore":
        """Open the file, creating it or bringing its schema up to date where needed.

        Without full text, as where SQLite has no FTS5, words are looked for one memory at a time.
        """
        store = cls(path, full_text)
        await store._run(store._connect)
        return store

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction, each event once."""
        await self._run(lambda: self._apply(changes))

    async def find(self, tenant_id: str, sought: Sought, among: Filter) -> Found:
        """Return those of the tenant's memories that may answer the query."""
        return await self._run(lambda: self._find(tenant_id, sought, among))

    async def get(
        self,
        tenant_id: str,
        memory_ids: Sequence[str],
        among: Filter,
        *,
        embedding: Embedding | None = None,
    ) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for."""
        return await self._run(lambda: self._get(tenant_id, memory_ids, among, embedding))

    async def related(
        self, tenant_id: str, parent: str, child: str, among: Filter
    ) -> list[Related]:
        """Return which entities under one key occur with which under another."""
        return await self._run(lambda: self._related(tenant_id, parent, child, among))

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""
        await self._run(lambda: self._refer(tenant_id, request_id, memory_ids, at))

    async def use(self, uses: Sequence[Use]) -> int:
        """Count uses in one transaction, each event once; return how many ids are not there."""
        return await self._run(lambda: self._use(uses))

    async def unknown(self, named: Sequence[tuple[str, str]]) -> int:
        """Return how many of the memories named their tenants do not have."""
        return await self._run(lambda: self._unknown(named))

    async def counts(self, tenant_id: str, memory_ids: Sequence[str]) -> dict[str, Counts]:
        """Return how often those of the memories that the tenant has were returned and used."""
        return await self._run(lambda: self._counts(tenant_id, memory_ids))

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
        self._database = connect(self._path)
        self._words = Words(self._database, self._full_text)
        with writing(self._database):
            self._words.set_up()

    def _apply(self, changes: Sequence[Change]) -> None:
        with writing(self._database):
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
        seen = (tenant_id, consumer, event_id, as_text(at))
        return self._database.execute(_SQL["mark_seen"], seen).rowcount == 1

    def _write(self, change: Change, number: int) -> None:
        item = change.item
        if item.op == "delete":
            deleted = (number, item.tenant_id, item.memory_id)
            for (row_id,) in self._database.execute(_SQL["delete_memory"], deleted).fetchall():
                self._words.forget(row_id)
        else:
            written = self._database.execute(_SQL["upsert_memory"], memory_row(change, number))
            self._words.remember(written.fetchone()[0], item.tenant_id, item.content or "")

    def _find(self, tenant_id: str, sought: Sought, among: Filter) -> Found:
        with reading(self._database):
            embedding = sought.embedding
            index = self._up_to_date(tenant_id, embedding.model if embedding else None)
            visible = index.visible(among, self._fitting(tenant_id, among))
            matches = self._words.match(tenant_id, sought.asked, index, visible)
            worded = matches.best(index, visible, sought.best)
            near = (
                index.nearest(embedding.vector, visible, sought.best)
                if embedding and sought.by_meaning
                else []
            )
            pool = Pool(index, dict.fromkeys([*worded, *near]))
            pool.look_around([*worded[: sought.around], *near[: sought.around]], visible)
            mean_rate = self._mean_rate(tenant_id)
            hits = self._hits(tenant_id, pool, sought, matches, among, mean_rate)
        if not hits:
            return Found()
        return Found(hits, matches.frequencies, len(index.rows), index.mean_length, mean_rate)

    def _hits(
        self,
        tenant_id: str,
        pool: Pool,
        sought: Sought,
        matches: Matches,
        among: Filter,
        mean_rate: float | None,
    ) -> list[Hit]:
        query = sought.embedding.vector if sought.embedding else None
        known = {
            row.row_id: (similarity, row.length, row.session_id, matches.counts_of(place), *before)
            for place, row, similarity, before in pool.members(query)
        }
        rows = self._select("memories_by_row", tenant_id, list(known))
        return [found_hit(row, among.at, mean_rate, *known[row[0]]) for row in rows]

    def _mean_rate(self, tenant_id: str) -> float | None:
        """Return how often the tenant's memories are used when they are looked at."""
        row = self._database.execute(_SQL["mean_rate"], (tenant_id,)).fetchone()
        return row[0] if row else None

    def _get(
        self,
        tenant_id: str,
        memory_ids: Sequence[str],
        among: Filter,
        embedding: Embedding | None,
    ) -> list[Hit]:
        similarities: Mapping[int, float | None] = {}
        with reading(self._database):
            selected = self._select("memories_by_id", tenant_id, list(memory_ids))
            rows = [row for row in selected if row_fits(row, among)]
            if embedding and rows:
                index = self._up_to_date(tenant_id, embedding.model)
                similarities = index.similarities(embedding.vector, [row[0] for row in rows])
            mean_rate = self._mean_rate(tenant_id)
        by_id = {
            row[1]: plain_hit(row, among.at, mean_rate, similarities.get(row[0])) for row in rows
        }
        return [by_id[memory_id] for memory_id in dict.fromkeys(memory_ids) if memory_id in by_id]

    def _related(self, tenant_id: str, parent: str, child: str, among: Filter) -> list[Related]:
        with reading(self._database):
            rows = self._database.execute(_SQL["related"], (tenant_id,))
            return related(rows, parent, child, among, self._fitting(tenant_id, among))

    def _refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        with writing(self._database):
            if self._is_new(tenant_id, "references", request_id, at):
                self._count("refer", tenant_id, memory_ids, at)

    def _use(self, uses: Sequence[Use]) -> int:
        missing = 0
        with writing(self._database):
            for use in uses:
                tenant_id, memory_ids = use.usage.tenant_id, set(use.usage.memory_ids)
                if self._is_new(tenant_id, "uses", use.usage.event_id, use.received_at):
                    missing += len(memory_ids) - self._count("use", tenant_id, memory_ids, use.at)
        return missing

    def _count(
        self, statement: str, tenant_id: str, memory_ids: Collection[str], at: datetime
    ) -> int:
        counted = (as_text(at), tenant_id, json.dumps(list(memory_ids)))
        return self._database.execute(_SQL[statement], counted).rowcount

    def _unknown(self, named: Sequence[tuple[str, str]]) -> int:
        return sum(not self._counts(tenant_id, [memory_id]) for tenant_id, memory_id in named)

    def _counts(self, tenant_id: str, memory_ids: Sequence[str]) -> dict[str, Counts]:
        rows = self._select("counts", tenant_id, list(memory_ids))
        return {
            memory_id: Counts(returned, as_moment(referenced_at), used, as_moment(used_at))
            for memory_id, returned, referenced_at, used, used_at in rows
        }

    def _overrides(self, tenant_id: str) -> dict[str, JsonValue]:
        row = self._database.execute(_SQL["overrides"], (tenant_id,)).fetchone()
        stored: dict[str, JsonValue] = json.loads(row[0]) if row else {}
        return stored

    def _override(
        self, tenant_id: str, kept: dict[str, JsonValue], removed: list[str]
    ) -> TenantOverrides:
        with writing(self._database):
            merged = self._overrides(tenant_id) | kept
            left = {key: value for key, value in merged.items() if key not in removed}
            self._database.execute(_SQL["override"], (tenant_id, json.dumps(left)))
            return read_overrides(tenant_id, left)

    def _select(self, statement: str, tenant_id: str, ids: list[Any]) -> list[tuple[Any, ...]]:
        return self._database.execute(_SQL[statement], (tenant_id, json.dumps(ids))).fetchall()

    def _fitting(self, tenant_id: str, among: Filter) -> set[int] | None:
        """Return the rows that fit what the index does not know of, None if nothing is asked."""
        fitting = None
        if among.entities:
            rows = self._database.execute(_SQL["entities"], (tenant_id,))
            fitting = having(rows, among.entities)
        if among.metadata is not None:
            containing = self._containing(tenant_id, among.metadata)
            fitting = containing if fitting is None else containing & fitting
        return fitting

    def _containing(self, tenant_id: str, metadata: Mapping[str, Any]) -> set[int]:
        rows = self._database.execute(_SQL["metadata"], (tenant_id,))
        return {row_id for row_id, text in rows if contains(json.loads(text), metadata)}

    def _up_to_date(self, tenant_id: str, model: str | None) -> TenantIndex:
        index = self._indexes.setdefault((tenant_id, model), TenantIndex())
        changed = self._database.execute(_SQL["changed_since"], (tenant_id, index.change))
        for *columns, change, deleted, of, blob in changed:
            row = Row(*columns)
            if deleted:
                index.remove(row.row_id)
            else:
                index.put(row, blob if of == model else None)
            index.change = change
        return index
