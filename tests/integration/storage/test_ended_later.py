"""A search is answered before its transaction has ended: nobody else may get into it."""

import asyncio
from datetime import UTC, datetime

import asyncpg
import pytest

from models import Item
from storage import Asked, Change, Filter
from storage.postgres import PostgresStore
from storage.protocol import Sought, StoreUnavailableError

NOW = datetime(2026, 11, 18, tzinfo=UTC)
SOUGHT = Sought(Asked(("tea",)), None, best=10)
IN_TRANSACTION = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'memstream' AND datname = current_database() AND state <> 'idle'
"""


@pytest.fixture
async def single(emptied_postgres):
    """A store with one connection: whoever comes next gets the one that was used."""
    store = await PostgresStore.open(emptied_postgres, connections=1)
    for tenant in ("acme", "umbrella"):
        item = Item(event_id="e", tenant_id=tenant, memory_id=f"of {tenant}", content="tea")
        await store.apply([Change(item, NOW, None)])
    yield store
    await store.close()


async def ids(store, tenant):
    return [hit.memory_id for hit in (await store.find(tenant, SOUGHT, Filter(at=NOW))).hits]


@pytest.mark.requirement("SE-1")
async def test_the_next_on_the_same_connection_is_in_a_transaction_of_its_own(single):
    for _ in range(20):
        assert await ids(single, "acme") == ["of acme"]
        # It could not write in a transaction that only reads, nor see its own with another tenant.
        await single.override("umbrella", {"search_threshold": 0.5})
        assert await ids(single, "umbrella") == ["of umbrella"]
        assert (await single.overrides("acme")).search_threshold is None


async def test_all_have_ended_once_the_store_is_closed(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres, connections=4)
    await asyncio.gather(*(ids(store, "acme") for _ in range(12)))
    await store.close()
    connection = await asyncpg.connect(emptied_postgres)
    assert await connection.fetchval(IN_TRANSACTION) == 0
    await connection.close()


async def test_who_is_not_waited_for_any_more_leaves_no_transaction(single):
    for _ in range(10):
        asking = asyncio.create_task(ids(single, "acme"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await single.override("acme", {"search_threshold": 0.5})


async def test_a_connection_that_broke_is_not_used_again(single, emptied_postgres, monkeypatch):
    owner = await asyncpg.connect(emptied_postgres)
    execute = asyncpg.Connection.execute
    broken = asyncio.Event()

    async def breaks(self, query, *arguments, **options):
        if query == "ROLLBACK" and not broken.is_set():
            broken.set()
            await owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'memstream' AND datname = current_database()"
            )
        return await execute(self, query, *arguments, **options)

    monkeypatch.setattr(asyncpg.Connection, "execute", breaks)
    assert await ids(single, "acme") == ["of acme"]
    await asyncio.wait_for(broken.wait(), 10)
    await owner.close()
    for _ in range(5):
        try:
            assert await ids(single, "umbrella") == ["of umbrella"]
            break
        except StoreUnavailableError:
            continue
    else:
        pytest.fail("no new connection was made")
