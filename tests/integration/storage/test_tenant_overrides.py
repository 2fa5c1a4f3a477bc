"""What tenants have their own way, in every store."""

import asyncio
import sqlite3
from pathlib import Path

import asyncpg
import pytest
from pydantic import ValidationError

from models import FusionWeights, RecallWeights, ScopeWeights, TenantOverrides
from storage import StoreError
from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore

AS_THE_SERVICE = {"role": "memstream_app", "search_path": "memstream,public"}
EVERYTHING = {
    "routing_threshold": 0.1,
    "rlm_enabled": False,
    "reasoning_enabled": False,
    "reasoning_cache_ttl_s": 1e308,
    "search_threshold": 1,
    "recall_weights": {"relevance": 1e-300, "scopes": {"wörk": {"recency": 0.30000000000000004}}},
    "fusion_weights": {"vector": 0, "keyword": 3},
    "token_budget": 1_000_000,
    "latency_budget_ms": 5e-324,
    "global_prior": False,
}


async def reopened(database):
    if isinstance(database, Path):
        return await SqliteStore.open(database)
    return await PostgresStore.open(database, connections=2)


async def test_a_tenant_has_nothing_its_own_way_until_it_is_set(store):
    assert await store.overrides("acme") == TenantOverrides()


@pytest.mark.requirement("RT-6")
async def test_values_come_back_exactly_as_they_were_set(store):
    expected = TenantOverrides.model_validate(EVERYTHING)
    assert await store.override("acme", EVERYTHING) == expected
    assert await store.overrides("acme") == expected


@pytest.mark.requirement("SE-4", "SE-7")
async def test_weights_are_kept_per_tenant_and_per_scope(store):
    await store.override("acme", {"recall_weights": {"scopes": {"work": {"recency": 0.9}}}})
    await store.override("acme", {"fusion_weights": {"keyword": 0.6}})
    served = (await store.overrides("acme")).in_force()
    assert served.recall_weights.of("work") == ScopeWeights(recency=0.9)
    assert served.recall_weights.of("home").recency == 0.2
    assert served.fusion_weights == FusionWeights(vector=0.7, keyword=0.6)


async def test_changes_are_merged_by_key_and_none_removes(store):
    await store.override("acme", {"token_budget": 10, "rlm_enabled": False})
    await store.override("acme", {"token_budget": 20, "search_threshold": 0.5})
    merged = TenantOverrides(token_budget=20, rlm_enabled=False, search_threshold=0.5)
    assert await store.overrides("acme") == merged
    left = await store.override("acme", {"token_budget": None, "rlm_enabled": True})
    assert left == TenantOverrides(rlm_enabled=True, search_threshold=0.5)
    assert await store.overrides("acme") == left
    await store.override("acme", {"rlm_enabled": None, "search_threshold": None})
    assert await store.overrides("acme") == TenantOverrides()


async def test_a_value_is_replaced_as_a_whole(store):
    await store.override("acme", {"recall_weights": {"recency": 0.9, "scopes": {"work": {}}}})
    await store.override("acme", {"recall_weights": {"relevance": 0.6}})
    overrides = await store.overrides("acme")
    assert overrides.recall_weights == RecallWeights(relevance=0.6)


async def test_removing_what_is_not_there_changes_nothing(store):
    assert await store.override("acme", {"token_budget": None}) == TenantOverrides()
    assert await store.override("acme", {}) == TenantOverrides()
    assert await store.overrides("acme") == TenantOverrides()


@pytest.mark.parametrize(
    "wrong",
    [
        {"routing_threshold": 2},
        {"shoe_size": 43},
        {"shoe_size": None},
        {"fusion_weights": {"keywords": 1}},
        {"recall_weights": {"scopes": {"work": {"relevence": 1}}}},
        {"recall_weights": {"scopes": {"\x00": {}}}},
        {"token_budget": "10"},
    ],
)
async def test_nothing_is_written_if_anything_is_wrong(store, wrong):
    await store.override("acme", {"token_budget": 10})
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        await store.override("acme", {"token_budget": 20, "rlm_enabled": False} | wrong)
    assert await store.overrides("acme") == TenantOverrides(token_budget=10)


async def test_concurrent_changes_of_different_keys_all_survive(store, database):
    second = await reopened(database)
    for turn in range(10):
        tenant = f"tenant-{turn}"
        await asyncio.gather(
            *(
                writer.override(tenant, {key: value})
                for writer, (key, value) in zip(
                    [store, second] * len(EVERYTHING), EVERYTHING.items(), strict=False
                )
            )
        )
        assert await store.overrides(tenant) == TenantOverrides.model_validate(EVERYTHING)
        await asyncio.gather(
            *(
                writer.override(tenant, {key: None})
                for writer, key in zip([second, store] * len(EVERYTHING), EVERYTHING, strict=False)
            )
        )
        assert await second.overrides(tenant) == TenantOverrides()
    await second.close()


async def test_a_change_begins_with_what_another_process_was_just_writing(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    other = sqlite3.connect(tmp_path / "memstream.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    change = asyncio.create_task(store.override("acme", {"token_budget": 10}))
    await asyncio.sleep(0.2)
    other.execute("INSERT INTO tenant_overrides VALUES ('acme', '{\"rlm_enabled\": false}')")
    other.execute("COMMIT")
    other.close()
    assert await change == TenantOverrides(token_budget=10, rlm_enabled=False)
    await store.close()


@pytest.mark.requirement("SE-1")
async def test_no_tenant_reads_or_changes_anothers(store):
    await store.override("acme", {"token_budget": 10, "rlm_enabled": False})
    await store.override("umbrella", {"token_budget": 20})
    await store.override("umbrella", {"rlm_enabled": None})
    assert await store.overrides("acme") == TenantOverrides(token_budget=10, rlm_enabled=False)
    assert await store.overrides("umbrella") == TenantOverrides(token_budget=20)
    for stranger in ("%", "acm_", "ACME", "acme ", "acme' OR '1'='1", "acme/"):
        assert await store.overrides(stranger) == TenantOverrides()
        await store.override(stranger, {"token_budget": None, "rlm_enabled": True})
    assert await store.overrides("acme") == TenantOverrides(token_budget=10, rlm_enabled=False)


async def test_overrides_survive_reopening(store, database):
    await store.override("acme", {"latency_budget_ms": 250})
    second = await reopened(database)
    assert await second.overrides("acme") == TenantOverrides(latency_budget_ms=250)
    await second.override("acme", {"token_budget": 5})
    assert (await store.overrides("acme")).token_budget == 5
    await second.close()


async def plant(database, text):
    """Write what another version of memstream might have."""
    if isinstance(database, Path):
        other = await SqliteStore.open(database)
        other._database.execute("INSERT INTO tenant_overrides VALUES ('acme', ?)", (text,))
        await other.close()
    else:
        other = await asyncpg.connect(database, server_settings=AS_THE_SERVICE)
        await other.execute("SELECT set_config('app.tenant_id', 'acme', false)")
        await other.execute("INSERT INTO tenant_overrides VALUES ('acme', $1)", text)
        await other.close()


async def stored_keys(database):
    if isinstance(database, Path):
        other = await SqliteStore.open(database)
        keys = set(other._overrides("acme"))
        await other.close()
        return keys
    other = await asyncpg.connect(database, server_settings=AS_THE_SERVICE)
    await other.execute("SELECT set_config('app.tenant_id', 'acme', false)")
    rows = await other.fetch("SELECT jsonb_object_keys(overrides) AS key FROM tenant_overrides")
    await other.close()
    return {row["key"] for row in rows}


async def test_what_a_newer_version_wrote_is_passed_over_and_kept(store, database):
    await plant(database, '{"from_the_future": [1], "token_budget": 5}')
    assert await store.overrides("acme") == TenantOverrides(token_budget=5)
    await store.override("acme", {"rlm_enabled": False})
    assert await stored_keys(database) == {"from_the_future", "token_budget", "rlm_enabled"}


async def test_what_cannot_be_read_says_how_to_get_rid_of_it(store, database):
    await plant(database, '{"routing_threshold": 7, "token_budget": 5}')
    with pytest.raises(StoreError, match="memstream tenant set acme routing_threshold=default"):
        await store.overrides("acme")
    with pytest.raises(StoreError, match="routing_threshold"):
        await store.override("acme", {"token_budget": 6})
    assert await store.override("acme", {"routing_threshold": None}) == TenantOverrides(
        token_budget=5
    )


@pytest.fixture
async def service(postgres_url):
    await migrate(postgres_url)
    store = await PostgresStore.open(postgres_url, connections=1)
    for tenant, budget in (("acme", 10), ("umbrella", 20)):
        await store.override(tenant, {"token_budget": budget})
    await store.close()
    connection = await asyncpg.connect(postgres_url, server_settings=AS_THE_SERVICE)
    yield connection
    await connection.close()


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM tenant_overrides",
        "UPDATE tenant_overrides SET overrides = '{}'",
        "DELETE FROM tenant_overrides",
        "INSERT INTO tenant_overrides VALUES ('acme', '{}')",
    ],
)
async def test_without_a_tenant_no_overrides_are_visible_or_writable(service, statement):
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="not set"):
        await service.execute(statement)


@pytest.mark.requirement("SE-1")
async def test_as_another_tenant_nothing_of_the_first_is_visible_or_writable(service):
    await service.execute("SELECT set_config('app.tenant_id', 'umbrella', false)")
    of_acme = "tenant_overrides WHERE tenant_id = 'acme'"
    assert await service.fetch(f"SELECT * FROM {of_acme}") == []
    assert await service.execute(f"DELETE FROM {of_acme}") == "DELETE 0"
    rows = await service.fetch("SELECT tenant_id FROM tenant_overrides")
    assert [row["tenant_id"] for row in rows] == ["umbrella"]
    for statement in (
        "UPDATE tenant_overrides SET tenant_id = 'nobody'",
        "INSERT INTO tenant_overrides VALUES ('acme', '{}') "
        "ON CONFLICT (tenant_id) DO UPDATE SET overrides = excluded.overrides",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute(statement)
