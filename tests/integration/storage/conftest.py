"""Each store in turn: what every store must do is tested on both."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from memstream.embedded.postgres import superuser_url
from retrieval.embedding import open_embedder
from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore

TABLES = (
    *("memories", "inbox", "tenant_overrides", "postings", "corpora", "open_trajectories"),
    *("parked_signals", "abandonments", "outbox", "policies", "lessons", "policy_events"),
    "common_policy",
)
WRITTEN = """
    SELECT oid::regclass::text AS name
    FROM pg_class LEFT JOIN pg_inherits ON inhrelid = oid
    WHERE coalesce(inhparent, oid) = ANY ($1::regclass[]) AND relkind = 'r'
        AND pg_relation_size(oid) > 0
"""
"""The tables, or partitions of tables, in which there is or was anything."""


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server, postgres_template):
    """One database for all tests of stores: to empty it takes less than to make another."""

    async def make():
        connection = await asyncpg.connect(superuser_url(postgres_server.data_dir), ssl=False)
        await connection.execute(
            f'CREATE DATABASE test_stores TEMPLATE "{postgres_template}" OWNER memstream'
        )
        await connection.close()
        await migrate(url)

    url = urlsplit(postgres_server.url)._replace(path="/test_stores").geturl()
    asyncio.run(make())
    return url


@pytest.fixture
async def emptied_postgres(migrated_postgres):
    connection = await asyncpg.connect(migrated_postgres, ssl=False)
    await connection.execute("SET search_path = memstream")
    # To empty a table makes its files and those of its indexes anew: only where there is anything.
    if written := [row["name"] for row in await connection.fetch(WRITTEN, TABLES)]:
        await connection.execute(f"TRUNCATE {', '.join(written)}")
    made = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'memories_vectors_%'"
    for row in await connection.fetch(made):
        await connection.execute(f"DROP INDEX {row['indexname']}")
    await connection.close()
    return migrated_postgres


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("emptied_postgres")
    return tmp_path / "memstream.db"


@pytest.fixture
async def store(database):
    if isinstance(database, Path):
        opened = await SqliteStore.open(database)
    else:
        opened = await PostgresStore.open(database, connections=4)
    yield opened
    await opened.close()


@pytest.fixture
async def stores(tmp_path, emptied_postgres):
    """All stores at once, also the embedded one as it is where SQLite has no FTS5."""
    opened = {
        "sqlite": await SqliteStore.open(tmp_path / "memstream.db"),
        "without FTS5": await SqliteStore.open(tmp_path / "plain.db", full_text=False),
        "postgres": await PostgresStore.open(emptied_postgres, connections=4),
    }
    yield opened
    for store in opened.values():
        await store.close()


@pytest.fixture
async def minilm(models):
    embedder = await open_embedder("onnx", cache_dir=models)
    yield embedder
    await embedder.close()
