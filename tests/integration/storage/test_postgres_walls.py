"""The wall between tenants in PostgreSQL holds even where a statement forgot the tenant."""

from datetime import UTC, datetime

import asyncpg
import numpy as np
import pytest

from models import Item
from storage import Change, Embedding
from storage.postgres import PostgresStore, migrate
from tests.integration.storage.aftermath import decide, decision, hear, signal
from tests.integration.storage.school import learn, trajectory

JOINED = ["open_trajectories", "parked_signals", "abandonments", "outbox"]
LEARNED = ["policies", "lessons", "policy_events"]
TABLES = ["memories", "inbox", "postings", "corpora", "tenant_overrides", *JOINED, *LEARNED]
AS_THE_SERVICE = {"role": "memstream_app", "search_path": "memstream,public"}


@pytest.fixture
async def url(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres)
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
    for tenant in ("acme", "umbrella"):
        await store.override(tenant, {"search_threshold": 0.5})
        await decide(store, decision(tenant=tenant))
        await hear(store, signal("context.usage", tenant=tenant))
        await hear(store, signal("feedback", tenant=tenant, request_id="unknown"))
        await hear(store, signal("session.abandonments", tenant=tenant))
        taught = [trajectory(number, tenant=tenant) for number in range(5)]
        await learn(store, *taught, tenant=tenant)
    await store.close()
    return emptied_postgres


@pytest.fixture
async def service(url):
    connection = await asyncpg.connect(url, server_settings=AS_THE_SERVICE)
    yield connection
    await connection.close()


async def refused(service, statement):
    """Carry out a statement for no tenant, which must fail."""
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="tenant_id is not set"):
        await service.execute(statement)


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", ["SELECT * FROM", "DELETE FROM", "SELECT count(*) FROM"])
async def test_without_a_tenant_every_statement_fails(service, table, statement):
    await refused(service, f"{statement} {table}")
    # What is left of the setting once it was set is as good as nothing.
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
    await refused(service, f"{statement} {table}")


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("table", TABLES)
async def test_with_a_tenant_only_its_own_rows_are_visible(service, url, table):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
        rows = await service.fetch(f"SELECT DISTINCT tenant_id FROM {table}")
        assert [row["tenant_id"] for row in rows] == ["acme"]
        await service.execute(f"DELETE FROM {table}")
        assert await service.fetch(f"SELECT * FROM {table} WHERE tenant_id = 'umbrella'") == []
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'umbrella', true)")
        assert await service.fetchval(f"SELECT count(*) FROM {table}") > 0


@pytest.mark.requirement("SE-1")
async def test_each_partition_has_the_same_wall(service):
    seen = []
    for number in range(16):
        await refused(service, f"SELECT * FROM memories_{number}")
        async with service.transaction():
            await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
            seen += await service.fetch(f"SELECT tenant_id FROM memories_{number}")
            assert bool(seen) == (number >= await service.fetchval("SELECT partition_of('acme')"))
    assert {row["tenant_id"] for row in seen} == {"acme"}


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("tenant", ["%", "acm_", "ACME", "acme ", "acme' OR true --", "*"])
async def test_a_tenant_is_no_pattern(service, tenant):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
        for table in TABLES:
            assert await service.fetch(f"SELECT * FROM {table}") == []


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO postings VALUES ('umbrella', 'term', 1, 1, 1)",
        "INSERT INTO corpora VALUES ('hooli', 1, 1)",
        "INSERT INTO tenant_overrides VALUES ('hooli', '{}')",
        "INSERT INTO inbox VALUES ('umbrella', 'items', 'e2', now())",
        "INSERT INTO open_trajectories (tenant_id, request_id, noted_at)"
        " VALUES ('umbrella', 'q', now())",
        "INSERT INTO open_trajectories (tenant_id, request_id, noted_at)"
        " VALUES ('umbrella', 'r', now()) ON CONFLICT (tenant_id, request_id)"
        " DO UPDATE SET settled = true",
        "INSERT INTO parked_signals VALUES ('umbrella', 'q', 'usage', 'e', '{}', now(), '{}')",
        "INSERT INTO abandonments VALUES ('umbrella', 's', 'f', now(), now(), now(), '{}', '{}')",
        "INSERT INTO outbox (tenant_id, topic, headers, written_at)"
        " VALUES ('umbrella', 'memory.trajectories', '[]', now())",
        "INSERT INTO policies (tenant_id) VALUES ('hooli')",
        "INSERT INTO policies (tenant_id) VALUES ('umbrella') ON CONFLICT (tenant_id)"
        " DO UPDATE SET version = 9",
        "INSERT INTO lessons (tenant_id, trajectory_id, revision, completed_at)"
        " VALUES ('umbrella', 't', 1, now())",
        "INSERT INTO policy_events (tenant_id, at, steps, trained, kind, version, told)"
        " VALUES ('umbrella', now(), 1, 1, 'promoted', 1, '{}')",
        *(f"UPDATE {table} SET tenant_id = 'umbrella'" for table in TABLES),
        # Nor may what is hidden be met by its key.
        "INSERT INTO corpora VALUES ('umbrella', 1, 1) ON CONFLICT (tenant_id)"
        " DO UPDATE SET memories = 9",
        "INSERT INTO tenant_overrides VALUES ('umbrella', '{}') ON CONFLICT (tenant_id)"
        " DO UPDATE SET overrides = '{}'",
    ],
)
async def test_no_table_can_be_written_for_another_tenant(service, statement):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute(statement)


async def everything(url):
    """Return the rows of all tenants, as a superuser would not need to ask for them."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "memstream,public"})
    rows = []
    for tenant in ("acme", "umbrella"):
        async with connection.transaction():
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            for table in TABLES:
                rows += [
                    tuple(row)
                    for row in await connection.fetch(f"SELECT {table}::text FROM {table}")
                ]
    await connection.close()
    return sorted(rows)


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("tenant", ["acme", "umbrella", "nobody", "'; DROP TABLE memories; --"])
async def test_to_index_vectors_tells_and_changes_nothing(service, url, tenant):
    before = await everything(url)
    for _ in range(2):
        answer = await service.fetchval("SELECT index_vectors($1, 2)::text", tenant)
        assert answer == ""
    await refused(service, "SELECT * FROM memories")
    assert await everything(url) == before
    assert before


async def test_only_the_service_may_have_vectors_indexed(url):
    connection = await asyncpg.connect(url)
    function = "memstream.index_vectors(text, integer)"
    allowed = await connection.fetchval(
        "SELECT has_function_privilege('public', $1, 'EXECUTE')", function
    )
    await connection.close()
    assert not allowed


@pytest.mark.requirement("SE-1")
async def test_what_is_due_across_tenants_tells_their_names_and_nothing_else(service, url):
    before = await everything(url)
    due = await service.fetch("SELECT * FROM due_by(now() + '1 year', '1 minute', 10)")
    names = ([], ["unknown"], ["s"])
    assert sorted(tuple(row) for row in due) == [("acme", *names), ("umbrella", *names)]
    assert await service.fetch("SELECT * FROM due_by('2026-01-01', '1 minute', 10)") == []
    assert tuple(await service.fetchrow("SELECT open, parked, outbox FROM join_health()")) == (
        *(0, 2, 4),
    )
    assert await service.fetchval("SELECT forget_trajectories('2026-01-01', 10)") == 0
    assert await service.fetchval("SELECT forget_inbox('2026-01-01', 10)") == 0
    assert await everything(url) == before


@pytest.mark.requirement("SE-1", "TR-8")
async def test_what_tenants_give_is_told_without_who_gave_it(service, url):
    assert await service.fetchval("SELECT contributions_changed()")
    given = await service.fetch("SELECT * FROM gather_contributions()")
    assert [tuple(row) for row in given] == [("4.0",), ("4.0",)]
    assert not await service.fetchval("SELECT contributions_changed()")
    assert await service.fetch("SELECT * FROM stale_policies(10)") == []
    await service.execute("INSERT INTO common_policy VALUES (true, 1, '[]', '{}', now())")
    stale = await service.fetch("SELECT * FROM stale_policies(10)")
    assert sorted(tuple(row) for row in stale) == [("acme",), ("umbrella",)]
    # Whether another has opted out is nobody's business.
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'umbrella', true)")
        await service.execute(
            "UPDATE tenant_overrides SET overrides = '{\"global_prior\": false}'"
            " WHERE tenant_id = 'umbrella'"
        )
        assert await service.fetchval("SELECT opted_out('umbrella')")
    await refused(service, "SELECT opted_out('umbrella')")


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize(
    "function",
    [
        *("due_by", "forget_trajectories", "forget_inbox", "take_outbox", "join_health"),
        *("opted_out", "contributions_changed", "gather_contributions", "stale_policies"),
        "release_refused",
    ],
)
async def test_only_the_service_may_reach_across_tenants(url, function):
    connection = await asyncpg.connect(url)
    named = await connection.fetchval("SELECT $1::regproc::oid", f"memstream.{function}")
    rights = "SELECT has_function_privilege($1, $2::oid, 'EXECUTE')"
    assert await connection.fetchval(rights, "memstream_app", named)
    assert not await connection.fetchval(rights, "public", named)
    await connection.close()


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("shadow", ["pg_inherits", "pg_class", "pg_partitioned_table", "memories"])
async def test_a_temporary_table_does_not_stand_in_for_what_is_indexed(service, url, shadow):
    await service.execute(f"CREATE TEMPORARY TABLE {shadow} (inhrelid oid, inhparent oid)")
    await service.execute("SELECT index_vectors('acme', 2)")
    connection = await asyncpg.connect(url)
    indexed = await connection.fetch(
        "SELECT schemaname FROM pg_indexes WHERE indexname LIKE 'memories_vectors%'"
    )
    await connection.close()
    assert [row["schemaname"] for row in indexed] == ["memstream"]


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("dimensions", [0, -1, 20_000])
async def test_an_impossible_length_is_refused(service, dimensions):
    with pytest.raises(asyncpg.PostgresError):
        await service.execute("SELECT index_vectors('acme', $1)", dimensions)


@pytest.mark.requirement("SE-1")
async def test_only_the_tenant_of_the_transaction_is_visible(service):
    async with service.transaction():
        await service.execute("SELECT set_config('app.tenant_id', 'acme', true)")
        rows = await service.fetch("SELECT content FROM memories")
        assert [row["content"] for row in rows] == ["of acme"]
    await refused(service, "SELECT * FROM memories")


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
        "DELETE FROM memories_0",
        "UPDATE memories_15 SET tenant_id = 'acme'",
        "ALTER TABLE memories_7 DISABLE ROW LEVEL SECURITY",
        *(f"TRUNCATE {table}" for table in TABLES),
        "ALTER TABLE postings DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_wall ON corpora",
        "SELECT setval('memory_numbers', 1)",
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


async def test_only_the_doors_let_the_service_see_beyond_one_tenant(url):
    connection = await asyncpg.connect(url)
    doors = await connection.fetch(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memstream'::regnamespace AND prosecdef"
    )
    await connection.close()
    named = {door["proname"] for door in doors}
    # What goes through a batch from tenant to tenant is none of them.
    assert not named & {"mark_seen", "open_searches", "standings", "record_verdicts", "put_out"}
    assert named >= {"due_by", "forget_trajectories", "take_outbox", "join_health"}


@pytest.mark.requirement("SE-1")
async def test_a_batch_finds_in_each_turn_what_is_that_tenants(service):
    found = await service.fetch(
        "SELECT tenant_id, request_id FROM standings($1, $2, $3, false)",
        *(["acme", "nobody", "umbrella"], [1, 2, 3], ["r", "r", "r"]),
    )
    assert [tuple(row) for row in found] == [("acme", "r"), ("umbrella", "r")]


async def test_migrating_again_changes_nothing(url):
    assert await migrate(url) == []
