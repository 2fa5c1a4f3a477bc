"""Which entities occur together: an org's teams, as memories tell."""

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import MAX_RELATED, Filter
from storage.postgres import PostgresStore
from tests.integration.storage.corpus import NOON, change, deletion
from tests.integration.storage.test_stores_agree import BATCHES, FILTERS, write


def about(*entities, **fields):
    """Return a memory about each."""
    return [
        change(f"m{n}", "text", entities=each and dict(each), **fields)
        for n, each in enumerate(entities)
    ]


def team(org, name):
    return {"org": org, "team": name}


async def teams(store, tenant="acme", *, parent="org", child="team", **filters):
    return [
        tuple(one) for one in await store.related(tenant, parent, child, Filter(NOON, **filters))
    ]


@pytest.mark.requirement("RX-2")
async def test_pairs_are_counted_and_those_of_most_memories_come_first(store):
    api, web, infra = team("platform", "api"), team("platform", "web"), team("infra", "api")
    alone = [{"org": "platform"}, {"team": "api"}, {"project": "x"}, {}, None]
    await store.apply(about(web, api, infra, web, {**web, "project": "x"}, infra, *alone))
    (first, *_) = related = await store.related("acme", "org", "team", Filter(NOON))
    assert (first.parent, first.child, first.memories) == ("platform", "web", 3)
    assert related == [("platform", "web", 3), ("infra", "api", 2), ("platform", "api", 1)]
    assert await teams(store, parent="team", child="org") == [
        ("web", "platform", 3),
        ("api", "infra", 2),
        ("api", "platform", 1),
    ]
    assert await teams(store, parent="org", child="nothing") == []
    assert await teams(store, parent="nothing", child="nothing") == []
    assert await teams(store, "stranger") == []


@pytest.mark.requirement("RX-2")
async def test_the_same_key_twice_lists_its_entities(store):
    await store.apply(about({"org": "b"}, {"org": "a"}, team("b", "x"), {"team": "x"}, None))
    assert await teams(store, child="org") == [("b", "b", 2), ("a", "a", 1)]


@pytest.mark.requirement("RX-2")
async def test_ties_are_broken_by_parent_and_then_by_child(store):
    names = ["a", "B", "é", "e\u0301", "ﬁ", "🌍", "_", "Z", "~"]
    await store.apply(about(*(team(org, name) for org in names for name in names)))
    expected = [(org, name, 1) for org in sorted(names) for name in sorted(names)]
    assert await teams(store) == expected


@pytest.mark.requirement("RX-2")
async def test_at_most_a_thousand_pairs_come_back(store):
    pairs = [team("org", f"team {n:04}") for n in range(MAX_RELATED + 5)]
    await store.apply(about(*pairs, pairs[-1]))
    found = await teams(store)
    assert len(found) == MAX_RELATED
    assert found[0] == ("org", "team 1004", 2)
    assert found[1:] == [("org", f"team {n:04}", 1) for n in range(MAX_RELATED - 1)]


@pytest.mark.requirement("RX-2", "SE-8", "SE-9")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"plain", "team", "health", "episode", "tagged"}),
        ({"min_confidence": 0.0}, {"plain", "team", "health", "episode", "tagged", "faded"}),
        ({"layers": ["team"]}, {"team"}),
        ({"layers": []}, set()),
        ({"scope": "general"}, {"plain", "team", "tagged"}),
        ({"scope": "health"}, {"plain", "team", "health", "tagged"}),
        ({"metadata": {"tag": "x"}}, {"tagged"}),
        ({"metadata": {}}, {"plain", "team", "health", "episode", "tagged"}),
        ({"entities": {"org": ["o"], "team": ["team", "health", "faded"]}}, {"team", "health"}),
        ({"entities": {"project": ["p"]}}, {"plain"}),
        ({"entities": {"org": []}}, set()),
        ({"entities": {"team": ["team"]}, "metadata": {"tag": "x"}}, set()),
        ({"entities": {"team": ["tagged", "team"]}, "metadata": {"tag": "x"}}, {"tagged"}),
    ],
)
async def test_only_memories_that_pass_the_filter_count(store, filters, expected):
    memories = {
        "plain": {"entities": {"org": "o", "team": "plain", "project": "p"}},
        "team": {"layer": "team"},
        "health": {"scope": "health"},
        "episode": {"kind": "episode"},
        "tagged": {"metadata": {"tag": "x"}},
        "faded": {"confidence": 0.1},
    }
    await store.apply(
        [
            change(name, "text", **{"entities": team("o", name)} | fields)
            for name, fields in memories.items()
        ]
    )
    assert await teams(store, **filters) == [("o", name, 1) for name in sorted(expected)]


@pytest.mark.requirement("RX-2")
async def test_what_was_deleted_or_written_again_is_no_longer_told(store):
    await store.apply(about(team("o", "gone"), team("o", "old"), team("o", "old")))
    changed = change("m1", "text", event_id="second", entities=team("o", "new"))
    await store.apply([deletion("m0", "first"), changed])
    assert await teams(store) == [("o", "new", 1), ("o", "old", 1)]
    await store.apply([change("m1", "text", event_id="third"), deletion("m2", "fourth")])
    assert await teams(store) == []
    await store.apply([change("m0", "text", event_id="fifth", entities=team("o", "back"))])
    assert await teams(store) == [("o", "back", 1)]


@pytest.mark.requirement("RX-2")
@pytest.mark.parametrize("odd", ["%", "$.*", "$", "a.b", 'a"b', "'; --", "0", "[0]", "\\", "東京"])
async def test_keys_and_names_are_no_patterns(store, odd):
    await store.apply(about({odd: "x", "team": "y"}, {"org": odd, "team": "y"}, team("z", "y")))
    assert await teams(store, parent=odd) == [("x", "y", 1)]
    assert await teams(store, entities={"org": [odd]}) == [(odd, "y", 1)]
    assert await teams(store, entities={odd: ["x"]}, parent="team") == [("y", "y", 1)]


@pytest.mark.requirement("RX-2", "SE-1")
async def test_entities_of_another_tenant_are_never_told(store):
    await store.apply(about(team("ours", "api")))
    await store.apply(about(team("ours", "secret"), team("theirs", "api"), tenant="umbrella"))
    assert await teams(store) == [("ours", "api", 1)]
    assert await teams(store, entities={"org": ["theirs"]}) == []
    assert await teams(store, entities={"team": ["secret", "api"]}) == [("ours", "api", 1)]
    assert len(await teams(store, "umbrella")) == 2
    for stranger in ("%", "acm_", "ACME", "acme' OR '1'='1"):
        assert await teams(store, stranger) == []


@pytest.mark.requirement("RX-2", "SE-1")
async def test_the_wall_holds_where_the_statement_forgets_the_tenant(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres, connections=1)
    await store.apply(about(team("ours", "api")))
    await store.apply(about(team("theirs", "secret"), tenant="umbrella"))
    forgetful = "SELECT entities FROM memories WHERE entities @? '$.*' AND tenant_id > ''"
    async with store._tenant("acme") as connection:
        await connection.execute("SET LOCAL enable_seqscan = off")
        rows = await connection.fetch(forgetful)
        plan = await connection.fetch(f"EXPLAIN {forgetful}")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="not set"):
        async with store._transaction() as connection:
            await connection.fetch(forgetful)
    await store.close()
    assert [row["entities"] for row in rows] == [team("ours", "api")]
    assert "tenant_id_idx" in "".join(line[0] for line in plan)


async def test_every_partition_has_the_index_of_those_with_entities(emptied_postgres):
    connection = await asyncpg.connect(emptied_postgres)
    indexed = await connection.fetchval(
        "SELECT count(DISTINCT tablename) FROM pg_indexes"
        " WHERE tablename ~ '^memories_[0-9]+$' AND indexdef LIKE '%entities @?%'"
    )
    await connection.close()
    assert indexed == 16


@pytest.mark.requirement("RX-2", "SE-11")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES, among=st.lists(FILTERS, min_size=3, max_size=6))
async def test_the_stores_tell_the_same(stores, batches, among):
    names = await write(stores, batches)
    for asked in among:
        for tenant in names.values():
            for parent, child in (("org", "team"), ("team", "org"), ("org", "org")):
                first, *others = [
                    await store.related(tenant, parent, child, asked) for store in stores.values()
                ]
                assert all(other == first for other in others)
