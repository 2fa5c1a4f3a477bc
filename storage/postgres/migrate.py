"""Brings a PostgreSQL database up to the schema of this version."""

import hashlib
from typing import Any

import asyncpg

from storage.protocol import StoreError
from storage.statements import migrations

_LOCK = 0x6D656D73_74726561
"""An arbitrary but fixed number ("memstrea"): workers that start together migrate one by one."""

_LEDGER = """
CREATE SCHEMA IF NOT EXISTS memstream;
CREATE TABLE IF NOT EXISTS memstream.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""


async def migrate(url: str) -> list[str]:
    """Apply what is missing, as the tables' owner, and return the names of what was applied."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "memstream,public"})
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        await connection.execute(_LEDGER)
        return await _apply_missing(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise StoreError(
            f"the database user may not set up memstream: {error}. Let a superuser run once: "
            "CREATE EXTENSION vector; CREATE ROLE memstream_app NOLOGIN; "
            "GRANT memstream_app TO <that user>;"
        ) from error
    finally:
        await connection.close()


async def missing_migrations(connection: Any) -> list[str]:
    """Return the names of those that the database lacks."""
    applied = await _applied(connection)
    return [name for version, name, _ in migrations("storage.postgres") if version not in applied]


async def applied_version(connection: Any) -> int:
    """Return the migration up to which the database has all that are known; 0 if none."""
    applied = await _applied(connection)
    known = [version for version, _, _ in migrations("storage.postgres")]
    missing = [version for version in known if version not in applied]
    return missing[0] - 1 if missing else max(applied)


async def _applied(connection: Any) -> set[int]:
    if await connection.fetchval("SELECT to_regclass('memstream.migrations') IS NULL"):
        return set()
    rows = await connection.fetch("SELECT version FROM memstream.migrations")
    return {row["version"] for row in rows}


async def _apply_missing(connection: Any) -> list[str]:
    rows = await connection.fetch("SELECT version, checksum FROM memstream.migrations")
    known = {row["version"]: row["checksum"] for row in rows}
    applied = []
    for version, name, sql in migrations("storage.postgres"):
        checksum = hashlib.sha256(sql.encode()).hexdigest()
        if version not in known:
            async with connection.transaction():
                await connection.execute(sql)
                await connection.execute(
                    "INSERT INTO memstream.migrations (version, name, checksum) "
                    "VALUES ($1, $2, $3)",
                    *(version, name, checksum),
                )
            applied.append(name)
        elif known[version] != checksum:
            raise StoreError(f"{name} was changed after it had been applied; add a new one instead")
    return applied
