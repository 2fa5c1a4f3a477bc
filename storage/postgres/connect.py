"""Connections to PostgreSQL as the service uses them."""

import json
from typing import Any

import asyncpg
from pgvector.asyncpg import register_vector

from storage.postgres.migrate import missing_migrations
from storage.protocol import StoreError, StoreUnavailableError

# Restarts, fail-overs, full connection slots and deadlocks pass; the same call may then work.
PASSING = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    # What asyncpg says when it rolls back on a connection that broke in the middle of a statement.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    # A server that was one of several and has just been told to follow another.
    asyncpg.ReadOnlySQLTransactionError,
    # What a worker hears that was stopped in the middle, and goes on.
    asyncpg.IdleInTransactionSessionTimeoutError,
)

IDLE_S = 20
"""So long a transaction may do nothing before its locks are taken from it.

Only a worker that was stopped, or cannot reach the broker, is idle in one; others wait for it.
"""

SERVICE_SETTINGS = {
    "role": "memstream_app",
    "search_path": "memstream,public",
    "application_name": "memstream",
    # Filters are applied while an index is scanned, until enough pass them.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "1000000",
    # Some 240 bytes for each that is looked at; with one work_mem it would give up after 17,000.
    "hnsw.scan_mem_multiplier": "64",
    # Statements are written in the order in which they are best carried out; where an index gives
    # the order, sorting is never cheaper, though a planner that knows no vectors thinks so …
    "join_collapse_limit": "1",
    "enable_sort": "off",
    # … and across partitions, a plan for any tenant is a good one for none.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "idle_in_transaction_session_timeout": f"{IDLE_S}s",
}


async def open_pool(url: str, connections: int) -> Any:
    """Connect; the database must have been migrated."""
    await _check_schema(url)
    try:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=connections,
            init=_prepare,
            reset=_leave_as_it_is,
            command_timeout=30,
            server_settings=SERVICE_SETTINGS,
        )
    except PASSING as error:
        raise unreachable(error) from error


def unreachable(error: BaseException) -> StoreUnavailableError:
    """Return what to tell whoever wanted the database."""
    return StoreUnavailableError(
        f"PostgreSQL does not answer ({type(error).__name__}: {error}); is it running, "
        "and is MEMSTREAM_DATABASE right?"
    )


async def _prepare(connection: Any) -> None:
    await register_vector(connection, schema="public")
    await connection.set_type_codec(
        "jsonb", encoder=json.dumps, decoder=_read_json, schema="pg_catalog"
    )


def _read_json(text: str) -> Any:
    return {} if text == "{}" else json.loads(text)  # Most memories have no metadata.


async def _leave_as_it_is(connection: Any) -> None:
    """Save the round trip of a reset: all that is ever set ends with its transaction."""


async def _check_schema(url: str) -> None:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except PASSING as error:
        raise unreachable(error) from error
    try:
        missing = await missing_migrations(connection)
    finally:
        await connection.close()
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise StoreError(f"the database lacks {missing[0]}{more}: run `memstream migrate`")
