"""What every store must do; the same tests run on SQLite and on PostgreSQL."""

import asyncio
from datetime import timedelta

import asyncpg
import numpy as np
import pytest

from storage import Embedding, Filter, StoreError, StoreUnavailableError
from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore
from tests.integration.storage.directions import (
    MODEL,
    NOON,
    change,
    direction,
    found,
    nearest,
)


async def test_nearest_come_first_with_their_cosine(store):
    await store.apply(
        [
            change("far", direction(0, 1)),
            change("near", direction(1, 0)),
            change("middle", direction(1, 1)),
        ]
    )
    hits = await nearest(store, direction(1, 0), limit=2)
    assert [hit.memory_id for hit in hits] == ["near", "middle"]
    assert [hit.similarity for hit in hits] == pytest.approx([1.0, 0.707107], abs=1e-6)


async def test_a_similarity_is_never_above_one(store):
    long = Embedding(MODEL, np.array([1.000001, 0], np.float32))
    await store.apply([change("m", long), change("n", Embedding(MODEL, -long.vector))])
    hits = await nearest(store, long, limit=2)
    assert [hit.similarity for hit in hits] == [1.0, -1.0]


async def test_a_memory_comes_back_as_it_was_written(store):
    metadata = {"tags": ["a", 1, None], "näme": {"deep": True}}
    await store.apply(
        [
            change(
                "m",
                direction(1, 0),
                content="Grüße, 世界 🌍 ' ; --",
                layer="team",
                scope="health",
                kind="rule",
                metadata=metadata,
                created_at=NOON - timedelta(days=3, microseconds=7),
            )
        ]
    )
    (hit,) = await nearest(store, direction(1, 0), limit=1)
    assert hit.content == "Grüße, 世界 🌍 ' ; --"
    assert (hit.layer, hit.scope, hit.kind) == ("team", "health", "rule")
    assert hit.metadata == metadata
    assert hit.created_at == NOON - timedelta(days=3, microseconds=7)


async def test_without_a_date_a_memory_is_as_old_as_its_message(store):
    await store.apply([change("m", direction(1, 0), at=NOON)])
    (hit,) = await nearest(store, direction(1, 0), limit=1)
    assert hit.created_at == NOON


@pytest.mark.requirement("SE-11")
async def test_ties_are_broken_by_age_and_then_by_id(store):
    older, newer = NOON - timedelta(days=1), NOON
    await store.apply(
        [
            change("b", direction(1, 0), created_at=older),
            change("é", direction(1, 0), created_at=newer),
            change("a", direction(1, 0), created_at=older),
            change("Z", direction(1, 0), created_at=newer),
        ]
    )
    assert await found(store, direction(1, 0)) == ["Z", "é", "a", "b"]
    assert await found(store, direction(1, 0), limit=3) == ["Z", "é", "a"]


async def test_an_upsert_replaces_and_a_delete_removes(store):
    await store.apply([change("m", direction(1, 0)), change("n", direction(0, 1))])
    assert await found(store, direction(1, 0)) == ["m", "n"]
    await store.apply([change("m", direction(0, 1), event_id="second", content="new")])
    hits = await nearest(store, direction(0, 1), limit=1, layers=["user"])
    assert hits[0].similarity == 1.0
    await store.apply([change("m", None, event_id="third", op="delete", content=None)])
    assert await found(store, direction(1, 0)) == ["n"]
    await store.apply([change("m", direction(1, 0), event_id="fourth")])
    assert await found(store, direction(1, 0)) == ["m", "n"]


async def test_an_event_delivered_again_changes_nothing(store):
    first = change("m", direction(1, 0), event_id="first", content="old")
    second = change("m", direction(1, 0), event_id="second", content="new")
    await store.apply([first])
    await store.apply([second])
    await store.apply([first])
    await store.apply([first, second, first])
    (hit,) = await nearest(store, direction(1, 0), limit=1)
    assert hit.content == "new"


async def test_changes_of_one_batch_apply_in_order(store):
    await store.apply(
        [
            change("m", direction(1, 0), event_id="1", content="old"),
            change("m", None, event_id="2", op="delete", content=None),
            change("m", direction(1, 0), event_id="3", content="new"),
            change("n", direction(1, 0), event_id="4"),
            change("n", None, event_id="5", op="delete", content=None),
        ]
    )
    (hit,) = await nearest(store, direction(1, 0), limit=5)
    assert (hit.memory_id, hit.content) == ("m", "new")


@pytest.mark.requirement("SE-1")
async def test_tenants_never_see_each_other(store):
    await store.apply(
        [
            change("m", direction(1, 0), tenant_id="acme", content="of acme"),
            change("m", direction(1, 0), tenant_id="umbrella", content="of umbrella"),
            change("m", direction(1, 0), tenant_id="acme%", content="of the wildcard"),
        ]
    )
    for tenant, content in (("acme", "of acme"), ("umbrella", "of umbrella")):
        hits = await nearest(store, direction(1, 0), tenant=tenant)
        assert [hit.content for hit in hits] == [content]
    for stranger in ("%", "acm_", "ACME", "acme' OR '1'='1", "acme/"):
        assert await found(store, direction(1, 0), tenant=stranger) == []


async def test_the_same_event_id_of_two_tenants_is_two_events(store):
    await store.apply([change("m", direction(1, 0), tenant_id="acme", event_id="same")])
    await store.apply([change("m", direction(1, 0), tenant_id="umbrella", event_id="same")])
    assert await found(store, direction(1, 0), tenant="umbrella") == ["m"]


async def test_deleting_does_not_reach_another_tenant(store):
    await store.apply([change("m", direction(1, 0), tenant_id="umbrella")])
    await store.apply([change("m", None, tenant_id="acme", op="delete", content=None)])
    assert await found(store, direction(1, 0), tenant="umbrella") == ["m"]


@pytest.mark.requirement("SE-8")
async def test_a_scope_shows_its_own_and_what_is_global_but_no_foreign_episodes(store):
    await store.apply(
        [
            change(f"{scope}-{kind}", direction(1, 0), scope=scope, kind=kind)
            for scope in ("global", "health", "general")
            for kind in ("fact", "rule", "episode")
        ]
    )
    assert set(await found(store, direction(1, 0), scope="health")) == {
        *("global-fact", "global-rule"),
        *("health-fact", "health-rule", "health-episode"),
    }
    assert len(await found(store, direction(1, 0))) == 9
    assert set(await found(store, direction(1, 0), scope="%")) == {"global-fact", "global-rule"}


async def test_only_the_layers_asked_for_are_searched(store):
    layers = ("agent", "user", "session", "project", "team", "org", "company")
    await store.apply([change(layer, direction(1, 0), layer=layer) for layer in layers])
    assert await found(store, direction(1, 0), layers=["team"]) == ["team"]
    assert set(await found(store, direction(1, 0), layers=["org", "user"])) == {"org", "user"}


async def test_filters_apply_before_the_limit(store):
    near = [change(f"near-{i}", direction(1, i / 100), layer="user") for i in range(20)]
    await store.apply([*near, change("far", direction(0, 1), layer="team")])
    assert await found(store, direction(1, 0), limit=1, layers=["team"]) == ["far"]


@pytest.mark.requirement("SE-9")
async def test_memories_whose_confidence_has_faded_are_not_found_unless_asked_for(store):
    month, fading = timedelta(days=30), {"confidence": 0.5, "decay_rate": 0.04}
    await store.apply(
        [
            change("sure", direction(1, 0)),
            # 0.5 · e^(−0.04 · 30) = 0.15, the seed's example of a fading memory
            change("fading", direction(1, 0.1), **fading),
            change("doubtful", direction(1, 0.2), confidence=0.2),
            change("gone", direction(1, 0.3), decay_rate=1e9),
            change("renewed", direction(1, 0.4), **fading, last_confirmed_at=NOON + month),
        ]
    )
    later = {"at": NOON + month}
    assert await found(store, direction(1, 0), **later) == ["sure", "doubtful", "renewed"]
    assert await found(store, direction(1, 0), **later, limit=2) == ["sure", "doubtful"]
    everything = await found(store, direction(1, 0), **later, min_confidence=0.0)
    assert everything == ["sure", "fading", "doubtful", "gone", "renewed"]
    assert await found(store, direction(1, 0), **later, min_confidence=0.9) == ["sure"]


async def test_get_returns_what_there_is_in_the_order_asked_for(store):
    await store.apply(
        [
            change("a", direction(1, 0), scope="health", kind="episode"),
            change("b", None, decay_rate=9.0),
            change("c", direction(0, 1), tenant_id="umbrella"),
        ]
    )
    among = Filter(at=NOON + timedelta(days=9), min_confidence=0.0)
    hits = await store.get("acme", ["b", "missing", "c", "a", "b"], among)
    assert [(hit.memory_id, hit.similarity) for hit in hits] == [("b", None), ("a", None)]
    assert await store.get("stranger", ["a", "b", "c"], among) == []
    scoped = Filter(at=NOON, scope="general", min_confidence=0.0)
    assert [hit.memory_id for hit in await store.get("acme", ["a", "b"], scoped)] == ["b"]


async def test_vectors_of_different_models_are_never_compared(store):
    other = Embedding("other-model", np.array([1, 0, 0], np.float32))
    await store.apply([change("m", direction(1, 0)), change("o", other), change("none", None)])
    assert await found(store, direction(1, 0)) == ["m"]
    assert await found(store, other) == ["o"]
    await store.apply([change("m", other, event_id="again")])
    assert await found(store, direction(1, 0)) == []
    assert await found(store, other) == ["m", "o"]


async def test_writers_and_readers_at_the_same_time_never_tear_a_memory(store):
    async def write(worker):
        for turn in range(10):
            side = direction(1, 0) if turn % 2 else direction(0, 1)
            await store.apply(
                [
                    change(f"m{n}", side, event_id=f"{worker}-{turn}-{n}", content=f"turn {turn}")
                    for n in range(5)
                ]
            )

    async def read():
        for _ in range(20):
            for hit in await nearest(store, direction(1, 0), limit=10):
                odd = int(hit.content.removeprefix("turn ")) % 2
                assert hit.similarity == odd

    await asyncio.gather(write("one"), write("two"), *(read() for _ in range(4)))
    assert len(await found(store, direction(1, 0))) == 5


async def test_many_memories_agree_with_plain_arithmetic(store):
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    await store.apply([change(f"m{n}", Embedding(MODEL, row)) for n, row in enumerate(vectors)])
    query = Embedding(MODEL, vectors[3])
    expected = np.argsort(-(vectors.astype(np.float64) @ vectors[3].astype(np.float64)))[:20]
    assert await found(store, query, limit=20) == [f"m{n}" for n in expected]


async def test_a_second_process_sees_what_the_first_wrote(tmp_path):
    first = await SqliteStore.open(tmp_path / "memstream.db")
    second = await SqliteStore.open(tmp_path / "memstream.db")
    await first.apply([change("m", direction(1, 0))])
    assert await found(second, direction(1, 0)) == ["m"]
    await first.apply([change("m", None, event_id="gone", op="delete", content=None)])
    assert await found(second, direction(1, 0)) == []
    await first.close()
    await second.close()


async def test_what_is_deleted_leaves_nothing_behind_in_the_file(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    await store.apply([change("m", direction(1, 0), content="secret", metadata={"k": "hidden"})])
    await store.apply([change("m", None, event_id="gone", op="delete", content=None)])
    rows = store._database.execute("SELECT * FROM memories").fetchall()
    await store.close()
    assert "secret" not in repr(rows)
    assert "hidden" not in repr(rows)


async def test_a_database_that_was_not_migrated_says_so(postgres_url):
    with pytest.raises(StoreError, match="memstream migrate"):
        await PostgresStore.open(postgres_url)
    # One that was written after its successors is missed all the same.
    await migrate(postgres_url)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("DELETE FROM memstream.migrations WHERE version = 7")
    await connection.close()
    with pytest.raises(StoreError, match=r"lacks 0007_joins\.sql: run"):
        await PostgresStore.open(postgres_url)


async def test_a_database_that_is_not_there_is_unavailable():
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        await PostgresStore.open("postgresql://nobody@127.0.0.1:1/nothing")
