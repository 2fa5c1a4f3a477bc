"""The wall between tenants in PostgreSQL holds even where a statement forgot the tenant."""

from datetime import UTC, datetime

import asyncpg
import numpy as np
import pytest

from models import Item
from storage import Change, Embedding
from storage.postgres import PostgresStore, migrate

AS_THE_SERVICE = {"role": "memstream_app", "search_path": "memstream,public"}


@pytest.fixture
async def url(postgres_url):
    await migrate(postgres_url)
    store = await PostgresStore.open(postgres_url)
    embedding = Embedding("m", np.array([1, 0], np.float32))
    await store.apply(
        [
            Change(
                Item(event_id="e", tenant_id=tenant, memory_id="m", content=f"of {tenant}"),
                datetime(2026, 11, 16, tzinfo=UTC),
                embedding,
            )
            for tenant in ("acme", "umbrella")
        ]
    )
    await store.close()
    return postgres_url


@pytest.fixture
async def service(url):
    connection = await asyncpg.connect(url, server_settings=AS_THE_SERVICE)
    yield connection
    await connection.close()


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("table", ["memories", "inbox"])
async def test_without_a_tenant_nothing_is_visible(service, table):
    assert await service.fetch(f"SELECT * FROM {table}") == []


@pytest.mark.requirement("SE-1")
async def test_only_the_tenant_of_the_transaction_is_visible(service):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
        rows = await service.fetch("SELECT content FROM memories")
        assert [row["content"] for row in rows] == ["of acme"]
    assert await service.fetch("SELECT * FROM memories") == []


@pytest.mark.requirement("SE-1")
async def test_nothing_can_be_written_for_another_tenant(service):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute("UPDATE memories SET tenant_id = 'umbrella'")
        with pytest.raises(asyncpg.InFailedSQLTransactionError):
            await service.execute("SELECT 1")


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM memories_0",
        "TRUNCATE memories",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_wall ON memories",
        "SELECT * FROM memstream.migrations",
    ],
)
async def test_the_service_cannot_go_around_the_wall(service, statement):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await service.execute(statement)


async def test_the_service_is_neither_superuser_nor_owner(service):
    row = await service.fetchrow(
        "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = current_user"
    )
    assert tuple(row) == (False, False, False)
    assert not await service.fetchval(
        "SELECT EXISTS (SELECT FROM pg_class WHERE relowner = current_user::regrole)"
    )


async def test_every_table_with_a_tenant_has_a_wall(url):
    connection = await asyncpg.connect(url)
    unwalled = await connection.fetch(
        """
        SELECT relname FROM pg_class
        JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id'
        WHERE relnamespace = 'memstream'::regnamespace AND relkind IN ('r', 'p')
            AND NOT relispartition AND NOT (relrowsecurity AND relforcerowsecurity)
        """
    )
    await connection.close()
    assert unwalled == []


async def test_migrating_again_changes_nothing(url):
    assert await migrate(url) == []
