"""Attempts to reach another tenant's memories by searching: on both stores they find nothing."""

import pytest

from storage import Counts, Filter, Sought, words
from tests.integration.storage.corpus import (
    NOON,
    VECTORS,
    GridEmbedder,
    answer,
    change,
    embedding,
    ids,
)

NEAR = VECTORS[0]
QUERY = GridEmbedder({"secret": NEAR})
MODES = ["hybrid", "semantic", "keyword"]


@pytest.fixture
async def two(store):
    """Return a store in which two tenants have the same ids, contents, sessions and vectors."""
    for tenant in ("acme", "umbrella"):
        await store.apply(
            [
                change(f"m{n}", "secret", to=NEAR, tenant=tenant, session_id="s", position=2 * n)
                for n in range(3)
            ]
        )
    # Only one of them has these, in between.
    await store.apply(
        [
            change(
                *(f"only{n}", f"secret of umbrella {n} 東京都"),
                to=NEAR,
                tenant="umbrella",
                session_id="s",
                position=2 * n + 1,
                metadata={"of": "umbrella"},
                scope="hidden",
                layer="team",
            )
            for n in range(3)
        ]
    )
    return store


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("operation", ["search", "recall"])
@pytest.mark.parametrize("mode", MODES)
async def test_the_same_ids_and_contents_are_each_tenants_own(two, operation, mode):
    asked = {"operation": operation, "mode": mode, "limit": 100}
    assert set(await ids(two, "secret", QUERY, **asked)) == {"m0", "m1", "m2"}
    theirs = set(await ids(two, "secret", QUERY, tenant_id="umbrella", **asked))
    assert theirs == {"m0", "m1", "m2", "only0", "only1", "only2"}
    for stranger in ("%", "*", "acm_", "ACME", "acme ", "acme' OR '1'='1", "umbrella/acme"):
        assert await ids(two, "secret", QUERY, tenant_id=stranger, **asked) == []


@pytest.mark.requirement("SE-1")
async def test_ids_of_another_tenant_are_not_got(two):
    get = {"operation": "get", "memory_ids": ["only0", "m1", "only1", "%", "umbrella/only0"]}
    found = await answer(two, **get)
    assert [(one.memory_id, one.content) for one in found] == [("m1", "secret")]
    assert await ids(two, **get, tenant_id="stranger") == []


@pytest.mark.requirement("SE-1", "SE-8")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "hidden"},
        {"scope": "%"},
        {"scope": "*"},
        {"scope": "hidden' OR '1'='1"},
        {"filters": {"of": "umbrella"}},
        {"filters": {"of": "%"}},
        {"filters": {"tenant_id": "umbrella"}},
        {"filters": {}},
        {"layers": ["team"]},
        {"strategy": "exhaustive"},
        {"user_id": "umbrella"},
        {"min_confidence": 0, "threshold": 0},
    ],
)
async def test_no_scope_filter_layer_or_strategy_leads_to_another_tenant(two, mode, fields):
    found = await answer(two, "secret", QUERY, mode=mode, limit=100, **fields)
    assert {one.memory_id for one in found} <= {"m0", "m1", "m2"}
    assert {one.content for one in found} <= {"secret"}


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("query", ["umbrella", "東京都", "東京", "京", "umbrell", "of umbrella 1"])
async def test_words_of_another_tenant_are_not_found(two, query):
    assert await ids(two, query, mode="keyword") == []
    assert await ids(two, query, mode="keyword", tenant_id="stranger") == []
    assert len(await ids(two, query, mode="keyword", tenant_id="umbrella")) >= 1


@pytest.mark.requirement("SE-1")
async def test_neighbours_are_of_the_same_tenant(two):
    sought = Sought(words.asked("secret"), embedding(NEAR), best=1, around=20)
    before = {"m1": "m0", "m2": "m1", "m0": None}
    for best in (1, 2, 100):
        wide = Sought(sought.asked, sought.embedding, best, around=20)
        found = await two.find("acme", wide, Filter(NOON))
        for hit in found.hits:
            assert hit.previous in {None, before[hit.memory_id]}
    theirs = await two.find("umbrella", wide, Filter(NOON))
    previous = {hit.memory_id: hit.previous for hit in theirs.hits}
    assert (previous["m1"], previous["only0"]) == ("only0", "m0")


@pytest.mark.requirement("SE-1")
async def test_counts_that_weigh_words_are_of_the_tenant_alone(two):
    sought = Sought(words.asked("secret umbrella"), None, best=10)
    found = await two.find("acme", sought, Filter(NOON))
    assert (found.memories, found.mean_length, list(found.frequencies)) == (3, 1.0, [3, 0])
    alone = await answer(two, "secret", mode="keyword")
    await two.apply([change(f"x{n}", "secret", tenant="umbrella") for n in range(5)])
    assert await answer(two, "secret", mode="keyword") == alone


@pytest.mark.requirement("SE-1", "SE-10")
async def test_references_and_overrides_do_not_cross(two):
    await two.refer("acme", "r", ["m0", "only0"], NOON)
    assert await two.counts("umbrella", ["m0", "only0"]) == {"m0": Counts(), "only0": Counts()}
    await two.override("umbrella", {"search_threshold": 1.0})
    assert len(await ids(two, "secret", QUERY)) == 3
