"""The PostgreSQL store: the tenant is in every statement and in every transaction's setting."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import asyncpg
from pgvector.asyncpg import register_vector

from storage.postgres.migrate import applied_version
from storage.protocol import (
    Change,
    Embedding,
    Hit,
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


class PostgresStore:
    """Memories in PostgreSQL, read and written as a role that row-level security binds."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

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
                server_settings={
                    "role": "memstream_app",
                    "search_path": "memstream,public",
                    "application_name": "memstream",
                },
            )
        except _PASSING as error:
            raise _unreachable(error) from error
        return cls(pool)

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction, each event once."""
        by_tenant = sorted(changes, key=lambda change: change.item.tenant_id)
        async with self._transaction() as connection:
            for tenant_id, group in groupby(by_tenant, lambda change: change.item.tenant_id):
                await connection.execute(_SQL["enter_tenant"], tenant_id)
                await _apply_to_tenant(connection, tenant_id, list(group))

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
        async with self._transaction() as connection:
            await connection.execute(_SQL["enter_tenant"], tenant_id)
            rows = await connection.fetch(
                _SQL["nearest"],
                *(tenant_id, query.model, query.vector, layers, scope, limit),
            )
        return [Hit(**row) for row in rows]

    async def ping(self) -> None:
        """Return if the database answers."""
        async with self._transaction() as connection:
            await connection.execute("SELECT 1")

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

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


async def _apply_to_tenant(connection: Any, tenant_id: str, changes: Sequence[Change]) -> None:
    seen_at = {change.item.event_id: change.received_at for change in changes}
    events = sorted(seen_at)
    rows = await connection.fetch(
        _SQL["mark_seen"], tenant_id, "items", events, [seen_at[event] for event in events]
    )
    new = {row["event_id"] for row in rows}
    last = last_of_each_memory([change for change in changes if change.item.event_id in new])
    gone = [change.item.memory_id for change in last if change.item.op == "delete"]
    if gone:
        await connection.execute(_SQL["delete_memories"], tenant_id, gone)
    await connection.executemany(
        _SQL["upsert_memory"], [_row(change) for change in last if change.item.op == "upsert"]
    )


def _row(change: Change) -> tuple[Any, ...]:
    item, embedding = change.item, change.embedding
    return (
        *(item.tenant_id, item.memory_id, item.layer, item.scope, item.kind, item.content),
        *(item.importance, item.confidence, item.decay_rate, item.session_id, item.position),
        *(item.entities or {}, item.source_path, item.metadata or {}),
        *(change.created_at, item.last_confirmed_at or change.created_at),
        *((embedding.model, embedding.vector) if embedding else (None, None)),
    )


def _unreachable(error: BaseException) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"PostgreSQL does not answer ({type(error).__name__}: {error}); is it running, "
        "and is MEMSTREAM_DATABASE right?"
    )
