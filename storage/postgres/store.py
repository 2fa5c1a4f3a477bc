"""The PostgreSQL store: the tenant is in every statement and in every transaction's setting."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any

import asyncpg
from pgvector.asyncpg import register_vector
from pydantic import JsonValue

from models import TenantOverrides
from storage.overrides import read_overrides, split_changes
from storage.postgres.migrate import applied_version
from storage.postgres.rows import found_rows, memory_row, posting_columns
from storage.protocol import (
    Change,
    Filter,
    Found,
    Hit,
    Sought,
    StoreError,
    StoreUnavailableError,
    last_of_each_memory,
)
from storage.statements import migrations, statements

_SQL = statements("storage.postgres")

# Restarts, fail-overs, full connection slots and deadlocks pass; the same call may then work.
_PASSING = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
)


EXACT_UP_TO = 5_000
"""Tenants with more memories are searched through an index; see docs/decisions.md for the times."""

INDEX_TIMEOUT_S = 3_600.0

SERVICE_SETTINGS = {
    "role": "memstream_app",
    "search_path": "memstream,public",
    "application_name": "memstream",
    # Filters are applied while an index is scanned, until enough pass them.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "1000000",
    # Statements are written in the order in which they are best carried out; where an index gives
    # the order, sorting is never cheaper, though a planner that knows no vectors thinks so …
    "join_collapse_limit": "1",
    "enable_sort": "off",
    # … and a plan for any tenant is a good one for none.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
}


class PostgresStore:
    """Memories in PostgreSQL, read and written as a role that row-level security binds."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._indexed: set[tuple[str, int]] = set()

    @classmethod
    async def open(cls, url: str, *, connections: int = 8) -> "PostgresStore":
        """Connect; the database must have been migrated."""
        await _check_schema(url)
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=connections,
                init=_prepare,
                command_timeout=30,
                server_settings=SERVICE_SETTINGS,
            )
        except _PASSING as error:
            raise _unreachable(error) from error
        return cls(pool)

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction, each event once."""
        by_tenant = sorted(changes, key=lambda change: change.item.tenant_id)
        sizes: dict[str, int] = {}
        async with self._transaction() as connection:
            for tenant_id, group in groupby(by_tenant, lambda change: change.item.tenant_id):
                await connection.execute(_SQL["enter_tenant"], tenant_id)
                sizes[tenant_id] = await _apply_to_tenant(connection, tenant_id, list(group))
        await self._index_large(changes, sizes)

    async def find(self, tenant_id: str, sought: Sought, among: Filter) -> Found:
        """Return those of the tenant's memories that may answer the query."""
        asked = sought.asked
        async with self._tenant(tenant_id) as connection:
            if asked.parts:
                found = await _find(connection, "find_parts", asked.parts, tenant_id, sought, among)
            else:
                found = await _find(connection, "find_terms", asked.terms, tenant_id, sought, among)
            if asked.scraps and not found.has_words:
                scraps = asked.scraps
                other = await _find(connection, "find_scraps", scraps, tenant_id, sought, among)
                found = other if other.has_words else found
        return found

    async def get(self, tenant_id: str, memory_ids: Sequence[str], among: Filter) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for."""
        async with self._tenant(tenant_id) as connection:
            rows = await connection.fetch(
                _SQL["get"], *_parameters(tenant_id, among), list(memory_ids)
            )
        return [Hit(*row) for row in rows]

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""
        async with self._tenant(tenant_id) as connection:
            if await _unseen(connection, tenant_id, "references", {request_id: at}):
                # In one order, so that concurrent requests cannot deadlock.
                await connection.execute(_SQL["refer"], tenant_id, sorted(memory_ids), at)

    async def references(
        self, tenant_id: str, memory_ids: Sequence[str]
    ) -> dict[str, tuple[int, datetime | None]]:
        """Return how often, and when last, each memory was returned."""
        async with self._tenant(tenant_id) as connection:
            rows = await connection.fetch(_SQL["references"], tenant_id, list(memory_ids))
        return {memory_id: (count, at) for memory_id, count, at in rows}

    async def overrides(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way."""
        async with self._tenant(tenant_id) as connection:
            stored = await connection.fetchval(_SQL["overrides"], tenant_id)
        return read_overrides(tenant_id, stored)

    async def override(self, tenant_id: str, changes: Mapping[str, JsonValue]) -> TenantOverrides:
        """Set the keys given, remove those given as None, and return what the tenant then has."""
        kept, removed = split_changes(changes)
        async with self._tenant(tenant_id) as connection:
            merged = await connection.fetchval(_SQL["override"], tenant_id, kept, removed)
            return read_overrides(tenant_id, merged)

    async def _index_large(self, changes: Sequence[Change], sizes: Mapping[str, int]) -> None:
        """Index the vectors of tenants that have become too large to compare with each."""
        large = {
            (change.item.tenant_id, change.embedding.vector.shape[0])
            for change in changes
            if change.embedding is not None and sizes[change.item.tenant_id] > EXACT_UP_TO
        }
        for tenant_id, dimensions in sorted(large - self._indexed):
            async with self._transaction() as connection:
                # Writers of this partition wait meanwhile, which for a large one takes minutes.
                await connection.execute(
                    _SQL["index_vectors"], tenant_id, dimensions, timeout=INDEX_TIMEOUT_S
                )
            self._indexed.add((tenant_id, dimensions))

    async def ping(self) -> None:
        """Return if the database answers."""
        async with self._transaction() as connection:
            await connection.execute("SELECT 1")

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    @asynccontextmanager
    async def _tenant(self, tenant_id: str) -> AsyncIterator[Any]:
        async with self._transaction() as connection:
            await connection.execute(_SQL["enter_tenant"], tenant_id)
            yield connection

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Any]:
        try:
            async with self._pool.acquire(timeout=10) as connection, connection.transaction():
                yield connection
        except _PASSING as error:
            raise _unreachable(error) from error


async def _prepare(connection: Any) -> None:
    await register_vector(connection, schema="public")
    await connection.set_type_codec(
        "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
    )


async def _check_schema(url: str) -> None:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except _PASSING as error:
        raise _unreachable(error) from error
    try:
        have = await applied_version(connection)
    finally:
        await connection.close()
    want = migrations("storage.postgres")[-1][0]
    if have < want:
        raise StoreError(f"the database has schema {have}, not {want}: run `memstream migrate`")


async def _unseen(
    connection: Any, tenant_id: str, consumer: str, seen_at: Mapping[str, datetime]
) -> set[str]:
    """Mark events as seen and return those that were not before."""
    events = sorted(seen_at)
    moments = [seen_at[event] for event in events]
    rows = await connection.fetch(_SQL["mark_seen"], tenant_id, consumer, events, moments)
    return {row["event_id"] for row in rows}


async def _apply_to_tenant(connection: Any, tenant_id: str, changes: Sequence[Change]) -> int:
    """Apply changes and return how many memories the tenant has then."""
    await connection.execute(_SQL["take_turn"], tenant_id)
    seen_at = {change.item.event_id: change.received_at for change in changes}
    new = await _unseen(connection, tenant_id, "items", seen_at)
    last = last_of_each_memory([change for change in changes if change.item.event_id in new])
    gone = [change.item.memory_id for change in last if change.item.op == "delete"]
    written = [change for change in last if change.item.op == "upsert"]
    await connection.execute(
        _SQL["forget_words"], tenant_id, [change.item.memory_id for change in last]
    )
    if gone:
        await connection.execute(_SQL["delete_memories"], tenant_id, gone)
    await connection.executemany(_SQL["upsert_memory"], [memory_row(one) for one in written])
    memories: int = await connection.fetchval(
        _SQL["remember_words"],
        tenant_id,
        [change.item.memory_id for change in written],
        *posting_columns(written),
    )
    return memories


def _parameters(tenant_id: str, among: Filter) -> tuple[Any, ...]:
    return (
        *(tenant_id, among.at, among.layers, among.scope),
        *(among.min_confidence, among.metadata),
    )


async def _find(
    connection: Any,
    statement: str,
    terms: Sequence[str],
    tenant_id: str,
    sought: Sought,
    among: Filter,
) -> Found:
    embedding = sought.embedding
    vector, model = (embedding.vector, embedding.model) if embedding else (None, None)
    rows = await connection.fetch(
        _for_length(statement, 1 if vector is None else vector.shape[0]),
        *_parameters(tenant_id, among),
        *(vector, model, terms, sought.best, sought.around, EXACT_UP_TO),
    )
    return found_rows(rows, len(terms))


@cache
def _for_length(statement: str, dimensions: int) -> str:
    """Return the statement for vectors of that length, which an index must be told."""
    return _SQL[statement].replace(":dimensions", str(dimensions))


def _unreachable(error: BaseException) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"PostgreSQL does not answer ({type(error).__name__}: {error}); is it running, "
        "and is MEMSTREAM_DATABASE right?"
    )
