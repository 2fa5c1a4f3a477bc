"""What the superuser does once in an embedded PostgreSQL, so that nobody has to be it later."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from memstream.embedded.postgres.folder import POLL_S, ROLE, PostgresFolder
from memstream.embedded.process import Process

APP_ROLE = "memstream_app"
"""The role that row-level security binds: it owns nothing and the run-time role may become it."""


START_TIMEOUT_S = 60.0
"""After a crash postgres first replays up to ``max_wal_size``: tens of seconds on a slow disk."""

CONNECT_TIMEOUT_S = 2.0
"""A connection takes milliseconds; one that hangs is a stranger's on our port: try again."""

DURABLE = {"synchronous_commit": "on"}
"""Whatever the server's settings: a kill must not undo what the password file says was done."""


class ServerEndedError(Exception):
    """The server we were waiting for has ended."""


async def until_ready(server: Process, folder: PostgresFolder, instance: str) -> None:
    """Return when the run-time role can use vectors; the first time, make it and its database."""
    try:
        if folder.password is None:
            folder.keep_password(await _prepare(server, folder, instance))
        async with _connected(server, folder.url(), instance) as memstream:
            await memstream.fetchval("SELECT '[1,2]'::vector::text")
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise server.failure(f"could not be made ready ({error})") from error


async def _prepare(server: Process, folder: PostgresFolder, instance: str) -> str:
    password = secrets.token_urlsafe()
    async with _connected(server, folder.superuser_url("postgres"), instance) as superuser:
        await _make_roles(superuser, password)
        if not await superuser.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", ROLE):
            await _execute(superuser, "CREATE DATABASE %I OWNER %I", ROLE, ROLE)
    async with _connected(server, folder.superuser_url(ROLE), instance) as superuser:
        await superuser.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return password


async def _make_roles(superuser: asyncpg.Connection, password: str) -> None:
    for role in (ROLE, APP_ROLE):
        # A kill may have come after any of these, so each is either repeatable or looked for.
        if not await superuser.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", role):
            await _execute(superuser, "CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS", role)
    await _execute(superuser, "GRANT %I TO %I WITH SET TRUE, INHERIT FALSE", APP_ROLE, ROLE)
    await _execute(superuser, "ALTER ROLE %I LOGIN PASSWORD %L", ROLE, password)


async def _execute(superuser: asyncpg.Connection, template: str, *values: str) -> None:
    # These statements take no parameters, so PostgreSQL itself quotes what goes into them.
    statement = await superuser.fetchval("SELECT format($1, VARIADIC $2::text[])", template, values)
    await superuser.execute(statement)


@asynccontextmanager
async def _connected(server: Process, url: str, instance: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await _connect(server, url, instance)
    try:
        yield connection
    finally:
        await connection.close()


async def _connect(server: Process, url: str, instance: str) -> asyncpg.Connection:
    deadline = time.monotonic() + START_TIMEOUT_S
    while server.running:
        try:
            return await _connect_once(url, instance)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if time.monotonic() > deadline:
                raise server.failure(f"does not answer ({error})") from error
        await asyncio.sleep(POLL_S)
    raise ServerEndedError


async def _connect_once(url: str, instance: str) -> asyncpg.Connection:
    # No TLS on loopback; asking for it would make asyncpg read the user's certificates.
    connection = await asyncpg.connect(
        url, ssl=False, timeout=CONNECT_TIMEOUT_S, server_settings=DURABLE
    )
    # A predecessor that is shutting down, or a stranger, may still answer on this port.
    if await connection.fetchval("SHOW cluster_name") == instance:
        return connection
    await connection.close()
    raise ConnectionRefusedError("another server has this port")
