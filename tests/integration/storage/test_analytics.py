"""Views for analysts: the same on both stores, and behind the walls that the tables are behind."""

import re
import sqlite3
from pathlib import Path

import asyncpg
import pytest

from memstream.embedded.postgres import superuser_url
from models import Item
from storage import Change, Filter
from storage.counts import Use
from storage.postgres import PostgresStore
from tests.integration.storage.aftermath import NOON, decide, decision, hear, settle, signal
from tests.integration.storage.school import REAL, learn, searches

DOCUMENT = Path(__file__).parents[3] / "docs" / "analytics.md"
VIEWS = [
    *("memstream_searches", "memstream_outcomes_daily", "memstream_rewards_daily"),
    *("memstream_policies", "memstream_policy_history", "memstream_memory_value"),
]
TENANTS = ("acme", "umbrella")


async def fill(store):
    """Let both tenants remember, search, use and learn."""
    await store.apply(
        [
            Change(
                Item(event_id=f"e{name}", tenant_id=tenant, memory_id=name, content="x"), NOON, None
            )
            for tenant in TENANTS
            for name in ("m1", "m2", "m3")
        ]
    )
    for tenant in TENANTS:
        await decide(
            store,
            *(decision(f"r{number}", tenant=tenant, session=f"s{number}") for number in range(4)),
        )
        used = signal("context.usage", tenant=tenant, session="s1", request_id="r1")
        judged = signal("feedback", "f", tenant=tenant, session="s1", request_id="r1")
        await hear(store, used)
        await hear(store, judged)
        await store.use([Use(used.signal, NOON)])
        await learn(store, *searches(110, tenant=tenant), tenant=tenant, pupil=REAL)
    await settle(store, 150)
    await decide(store, *(decision("open", tenant=tenant, at=100) for tenant in TENANTS))


async def rows(database, view, tenant="acme"):
    """Return a view's rows of a tenant, as an analyst would see them."""
    if isinstance(database, Path):
        connection = sqlite3.connect(database)
        connection.row_factory = sqlite3.Row
        found = connection.execute(f"SELECT * FROM {view} WHERE tenant_id = ?", (tenant,))
        told = [dict(row) for row in found]
        connection.close()
        return told
    connection = await as_the_service(database)
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
        told = [dict(row) for row in await connection.fetch(f"SELECT * FROM {view}")]
    await connection.close()
    return told


async def as_the_service(url):
    settings = {"role": "memstream_app", "search_path": "memstream,public"}
    return await asyncpg.connect(url, server_settings=settings)


async def test_outcomes_are_counted_by_day(store, database):
    await fill(store)
    found = await rows(database, "memstream_outcomes_daily")
    counts = {(str(row["day"]), row["outcome"]): row for row in found}
    assert {key: row["searches"] for key, row in counts.items()} == {
        ("2026-11-16", "result_used"): 1,
        ("2026-11-16", "no_signal"): 3,
        ("2026-11-16", "open"): 1,
    }
    used = counts["2026-11-16", "result_used"]
    assert (used["mean_quality"], used["corrected"]) == (0.5, 1)
    single = {row["request_id"]: row for row in await rows(database, "memstream_searches")}
    assert single["r1"]["outcome"] == "result_used"
    assert (single["r1"]["route"], single["r1"]["revision"]) == ("standard", 1)
    assert (single["open"]["outcome"], single["open"]["revision"]) == (None, None)


async def test_rewards_are_those_that_were_learned_from(store, database):
    await fill(store)
    found = await rows(database, "memstream_rewards_daily")
    log = searches(110, tenant="acme")
    assert sum(row["searches"] for row in found) == sum(row["trainable"] for row in found) == 110
    total = sum(row["mean_reward"] * row["trainable"] for row in found)
    assert total / 110 == pytest.approx(sum(one.reward for one in log) / 110)


async def test_policies_and_their_history_are_what_the_store_says(store, database):
    await fill(store)
    (policy,) = await rows(database, "memstream_policies")
    state = await store.policies.state("acme")
    assert (policy["version"], policy["trained"], policy["pending"]) == (state.version, 100, 10)
    history = await rows(database, "memstream_policy_history")
    recorded = await store.policies.history("acme", 1000)
    assert [row["kind"] for row in history] == [one.kind for one in recorded][::-1]
    promoted = next(row for row in history if row["kind"] == "promoted")
    assert promoted["lower"] <= promoted["estimate"] <= promoted["upper"]
    assert promoted["part"]
    assert promoted["reason"]
    assert promoted["actor"] == "gate"


async def test_the_value_of_a_memory_is_the_one_that_ranks_it(store, database):
    await fill(store)
    found = {row["memory_id"]: row for row in await rows(database, "memstream_memory_value")}
    hits = await store.get("acme", ("m1", "m2", "m3"), Filter(NOON))
    values = {hit.memory_id: hit.value for hit in hits}
    assert {name: row["value"] for name, row in found.items()} == pytest.approx(values, abs=1e-6)
    assert len(set(values.values())) > 1


async def test_every_view_is_there_and_documented(store, database):
    documented = set(re.findall(r"^### `(memstream_\w+)`", DOCUMENT.read_text(), re.MULTILINE))
    assert documented == set(VIEWS)
    await fill(store)
    text = DOCUMENT.read_text()
    for view in VIEWS:
        part = text.split(f"### `{view}`")[1].split("\n#")[0]
        columns = set((await rows(database, view))[0]) - {"tenant_id"}
        assert columns == set(re.findall(r"`(\w+)`", part.partition("|")[2])), view


@pytest.fixture
async def filled_postgres(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres)
    await fill(store)
    await store.close()
    return emptied_postgres


@pytest.mark.requirement("SE-1")
async def test_no_view_leads_to_another_tenant(filled_postgres):
    service = await as_the_service(filled_postgres)
    for view in VIEWS:
        for statement in ("SELECT * FROM", "DELETE FROM"):
            with pytest.raises(asyncpg.PostgresError):
                await service.execute(f"{statement} {view}")
    for tenant, other in (TENANTS, TENANTS[::-1]):
        async with service.transaction():
            await service.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            for view in VIEWS:
                seen = await service.fetch(f"SELECT DISTINCT tenant_id FROM {view}")
                assert [row["tenant_id"] for row in seen] == [tenant]
                crossed = f"SELECT 1 FROM {view} WHERE tenant_id = $1"
                assert await service.fetch(crossed, other) == []
    options = (
        "SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = "
        "'memstream'::regnamespace AND reloptions = '{security_invoker=true}'"
    )
    assert {row["relname"] for row in await service.fetch(options)} == set(VIEWS)
    await service.close()


@pytest.mark.requirement("SE-1")
async def test_the_analysts_of_the_document_read_one_tenant_and_write_nothing(
    filled_postgres, postgres_server
):
    (sql,) = re.findall(r"```sql\n(-- Once.+?)```", DOCUMENT.read_text(), re.DOTALL)
    name = filled_postgres.rpartition("/")[2]
    address = superuser_url(postgres_server.data_dir, name)
    connection = await asyncpg.connect(address, ssl=False)
    await connection.execute(sql)
    await connection.execute("SET ROLE analyst; SET search_path = memstream")
    try:
        for view in VIEWS:
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="not set"):
                await connection.fetch(f"SELECT * FROM {view}")
        await connection.execute("SET app.tenant_id = 'acme'")
        for view in VIEWS:
            seen = await connection.fetch(f"SELECT DISTINCT tenant_id FROM {view}")
            assert [row["tenant_id"] for row in seen] == ["acme"]
        for table in ("memories", "policies", "policy_events", "lessons", "open_trajectories"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(f"DELETE FROM {table}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT content FROM memories")
    finally:
        await connection.execute("RESET ROLE; DROP OWNED BY analyst; DROP ROLE analyst")
        await connection.close()
