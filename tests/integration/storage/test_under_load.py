"""Readers and a writer at the same time: no error, no other tenant's memories, nothing torn."""

import asyncio
from pathlib import Path

import pytest

from models import SearchRequest
from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore
from tests.integration.storage.corpus import GridEmbedder, change, searching

READERS = 8
SEARCHES = 15
MEMORIES = 12
TENANTS = ("acme", "umbrella")
MODES = ({"mode": "hybrid"}, {"mode": "keyword"}, {"mode": "semantic"}, {"fusion": "rrf"})


def written(tenant, number, version):
    """One version of a memory, which says so in every part of it."""
    word = ("even", "odd")[version % 2]
    return change(
        f"{tenant}-m{number}",
        f"{tenant}: note {number} is {word} and has version {version}",
        event_id=f"{tenant}/{number}/{version}",
        to=(1.0, 0.0, 0.0, 0.0) if version % 2 else (0.0, 1.0, 0.0, 0.0),
        tenant=tenant,
        session_id="shared",
        position=number,
        metadata={"tenant": tenant, "version": version},
    )


@pytest.fixture
async def pair(database):
    """The same memories through two stores, as in two workers."""
    if isinstance(database, Path):
        opened = [await SqliteStore.open(database) for _ in range(2)]
    else:
        opened = [await PostgresStore.open(database, connections=READERS) for _ in range(2)]
    yield opened
    for store in opened:
        await store.close()


@pytest.mark.requirement("SE-1")
async def test_eight_readers_and_a_writer(pair):
    reader_store, writer_store = pair
    for tenant in TENANTS:
        await writer_store.apply([written(tenant, n, 0) for n in range(MEMORIES)])
    embedder = GridEmbedder({"even notes": (0.0, 1.0, 0.0, 0.0), "odd": (1.0, 0.0, 0.0, 0.0)})
    done = asyncio.Event()

    async def write():
        version = 0
        while not done.is_set():
            version += 1
            # All memories of both tenants at once: a batch is seen as a whole or not at all.
            batch = [written(tenant, n, version) for tenant in TENANTS for n in range(MEMORIES)]
            await writer_store.apply(batch)
        return version

    async def read(reader):
        search = searching(reader_store, embedder)
        tenant = TENANTS[reader % len(TENANTS)]
        for number in range(SEARCHES):
            word = ("even notes", "odd")[number % 2]
            request = SearchRequest(
                request_id=f"{reader}/{number}",
                tenant_id=tenant,
                session_id="s",
                query=word,
                threshold=0,
                limit=MEMORIES,
                **MODES[(reader + number) % len(MODES)],
            )
            check(await search.answer(request), tenant, word)

    writer = asyncio.create_task(write())
    await asyncio.gather(*(read(reader) for reader in range(READERS)))
    done.set()
    assert await writer > 1


def check(result, tenant, query):
    versions = set()
    for found in result.results:
        version = found.metadata["version"]
        versions.add(version)
        assert found.metadata["tenant"] == tenant
        assert found.content.startswith(f"{tenant}: note ")
        assert found.content.endswith(f"version {version}")
        meant = version % 2 == (query == "odd")
        assert found.similarity in (None, float(meant))
    assert len(versions) <= 1
