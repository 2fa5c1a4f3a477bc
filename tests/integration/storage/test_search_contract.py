"""Every scenario that retrieval was specified by, on both stores through the whole search."""

import math
from datetime import timedelta

import pytest

from models import SearchRequest
from retrieval.ingest import Ingest
from storage import Counts
from tests.integration.storage.corpus import (
    NOON,
    GridEmbedder,
    answer,
    change,
    ids,
    searching,
)

NEAR, FAR = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)
QUERY = GridEmbedder({"topic": NEAR})


def like(cosine):
    """Return a unit vector with that cosine to NEAR."""
    return (cosine, math.sqrt(1 - cosine**2), 0.0, 0.0)


async def remember(store, embedder, contents):
    changes = [change(name, content) for name, content in contents.items()]
    await Ingest(store, embedder).store([(one.item, NOON) for one in changes])


@pytest.mark.requirement("SE-1")
@pytest.mark.parametrize("operation", ["search", "recall"])
async def test_without_a_scope_all_scopes_of_the_tenant_are_found_and_no_other_tenants(
    store, operation
):
    await store.apply(
        [
            change(f"{tenant}-{scope}", "topic", to=NEAR, tenant=tenant, scope=scope)
            for tenant in ("acme", "umbrella")
            for scope in ("global", "health", "general")
        ]
    )
    assert set(await ids(store, "topic", QUERY, operation=operation)) == {
        "acme-global",
        "acme-health",
        "acme-general",
    }


@pytest.mark.requirement("SE-2")
async def test_feeling_unwell_finds_nausea_by_meaning(store, minilm):
    contents = {
        "nausea": "User experiences nausea after dairy",
        "car": "The car is parked in the garage",
        "tax": "Tax returns are due in April",
        "music": "User likes jazz on Sundays",
    }
    await remember(store, minilm, contents)
    results = await answer(store, "feeling unwell", minilm, mode="semantic")
    assert results[0].memory_id == "nausea"
    cosines = [found.similarity for found in results]
    assert len(cosines) == 4
    assert cosines == sorted(cosines, reverse=True)
    assert [found.score for found in results] == [max(cosine, 0) for cosine in cosines]
    assert (await ids(store, "feeling unwell", minilm))[0] == "nausea"


@pytest.mark.requirement("SE-2")
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
async def test_at_most_as_many_as_the_limit_come_back(store, mode, fusion):
    await store.apply([change(f"m{n:02}", "topic", to=NEAR) for n in range(12)])
    for limit in (1, 5, 12, 13):
        found = await ids(store, "topic", QUERY, mode=mode, fusion=fusion, limit=limit)
        assert len(found) == min(limit, 12)
    assert len(await ids(store, "topic", QUERY, mode=mode, fusion=fusion)) == 10


@pytest.mark.requirement("SE-3")
@pytest.mark.parametrize("query", ["Dr. Smith", "dr smith", "Smith", "SMITH?", "smith's"])
async def test_dr_smith_is_found_by_words(store, query):
    await store.apply(
        [
            change("smith", "The appointment with Dr. Smith is on Monday"),
            change("jones", "The appointment with Mr. Jones is on Monday"),
        ]
    )
    assert await ids(store, query, mode="keyword") == ["smith"]


@pytest.mark.requirement("SE-3")
@pytest.mark.parametrize("query", ["running", "run", "RUNS", "runs!", "Running"])
async def test_running_finds_runs(store, query):
    await store.apply([change("runs", "User runs every morning"), change("swims", "User swims")])
    assert await ids(store, query, mode="keyword") == ["runs"]


@pytest.mark.requirement("SE-4")
async def test_lactose_intolerant_is_answered_by_meaning_and_by_words(store, minilm):
    contents = {
        "meaning": "Milk and cheese make the user's stomach hurt",
        "words": "Intolerant is how the critic called the film Lactose",
        "car": "The car is parked in the garage",
        "tax": "Tax returns are due in April",
    }
    await remember(store, minilm, contents)
    query = "lactose intolerant"
    by_meaning = await answer(store, query, minilm, mode="semantic")
    rank = {found.memory_id: n for n, found in enumerate(by_meaning, start=1)}
    assert rank["meaning"] < rank["car"]
    assert await ids(store, query, minilm, mode="keyword") == ["words"]
    results = await answer(store, query, minilm, fusion="rrf")
    score = {found.memory_id: found.score for found in results}
    assert score["words"] == pytest.approx((1 / (60 + rank["words"]) + 1 / 61) / (2 / 61))
    assert score["meaning"] == pytest.approx((1 / (60 + rank["meaning"]) + 1 / 71) / (2 / 61))


@pytest.mark.requirement("SE-4")
async def test_rank_1_by_meaning_and_15_by_words_is_fused_with_rank_1_by_words_and_10_by_meaning(
    store,
):
    """The ranks of the specification's example, made by hand."""
    near = [change("first", "lactose " + "padding " * 40, to=NEAR)]
    near += [change(f"near{n}", "nothing", to=like(0.95 - n / 100)) for n in range(8)]
    near += [change("tenth", "lactose lactose lactose", to=like(0.8))]
    worded = [change(f"word{n:02}", "lactose lactose " + "w " * n, to=FAR) for n in range(13)]
    await store.apply([*near, *worded])
    embedder = GridEmbedder({"lactose": NEAR})
    words = await ids(store, "lactose", embedder, mode="keyword", limit=20)
    meaning = await ids(store, "lactose", embedder, mode="semantic", limit=20)
    assert (words.index("tenth"), words.index("first")) == (0, 14)
    assert (meaning.index("tenth"), meaning.index("first")) == (9, 0)
    results = await answer(store, "lactose", embedder, fusion="rrf", limit=20)
    score = {found.memory_id: found.score for found in results}
    assert score["first"] == pytest.approx((1 / 61 + 1 / 75) / (2 / 61))
    assert score["tenth"] == pytest.approx((1 / 70 + 1 / 61) / (2 / 61))


@pytest.mark.requirement("SE-4")
async def test_hybrid_with_the_learned_recipe_is_the_default(store):
    await store.apply([change("words", "topic", to=FAR), change("meaning", "other", to=NEAR)])
    asked = await answer(store, "topic", QUERY, mode="hybrid", fusion="auto")
    assert await answer(store, "topic", QUERY) == asked
    assert {found.memory_id for found in asked} == {"words", "meaning"}


@pytest.mark.requirement("SE-7")
@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
async def test_the_important_and_recent_is_recalled_before_the_unimportant_and_old(store, fusion):
    created = NOON - timedelta(days=60)
    common = {"to": NEAR, "created_at": created}
    await store.apply(
        [
            change("a-minor", "topic", importance=2.0, **common),
            change("b-major", "topic", importance=9.0, **common),
        ]
    )
    await store.refer("acme", "r1", ["b-major"], NOON - timedelta(days=1))
    await store.refer("acme", "r2", ["a-minor"], NOON - timedelta(days=30))
    recalled = await answer(store, "topic", QUERY, operation="recall", mode="semantic")
    assert [found.memory_id for found in recalled] == ["b-major", "a-minor"]
    assert [found.score for found in recalled] == pytest.approx(
        [
            0.4 + 0.3 * 0.9 + 0.2 * 2 ** (-1 / 7) + 0.1,
            0.4 + 0.3 * 0.2 + 0.2 * 2 ** (-30 / 7) + 0.1,
        ]
    )
    found = await ids(store, "topic", QUERY, operation="recall", fusion=fusion)
    assert found == ["b-major", "a-minor"]


@pytest.mark.requirement("SE-7")
async def test_a_tenants_own_weights_are_used_and_a_scopes_before_them(store):
    await store.apply(
        [
            change("relevant", "x", to=NEAR, importance=0),
            change("important", "x", to=like(0.5), importance=10),
        ]
    )

    async def recall(**fields):
        results = await answer(store, "topic", QUERY, operation="recall", mode="semantic", **fields)
        return {found.memory_id: found.score for found in results}

    assert await recall() == pytest.approx({"important": 0.8, "relevant": 0.7})
    own = {"relevance": 0.6, "importance": 0.1, "recency": 0.2, "confidence": 0.1}
    health = {"relevance": 0.0, "importance": 2.0, "recency": 0.0, "confidence": 0.0}
    await store.override("acme", {"recall_weights": {**own, "scopes": {"health": health}}})
    await store.override("umbrella", {"recall_weights": health})
    assert await recall() == pytest.approx({"relevant": 0.9, "important": 0.7})
    assert await recall(scope="general") == pytest.approx({"relevant": 0.9, "important": 0.7})
    assert await recall(scope="health") == pytest.approx({"important": 1.0, "relevant": 0.0})


@pytest.mark.requirement("SE-8")
@pytest.mark.parametrize("operation", ["search", "recall"])
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_a_scope_has_its_own_and_what_is_global(store, operation, mode):
    await store.apply(
        [
            change(f"{scope}-{kind}", "topic", to=NEAR, scope=scope, kind=kind)
            for scope in ("global", "health", "general")
            for kind in ("fact", "rule", "episode")
        ]
    )
    shown = {"operation": operation, "mode": mode}
    assert set(await ids(store, "topic", QUERY, scope="health", **shown)) == {
        *("global-fact", "global-rule"),
        *("health-fact", "health-rule", "health-episode"),
    }
    assert len(await ids(store, "topic", QUERY, **shown)) == 9


@pytest.mark.requirement("SE-9")
@pytest.mark.parametrize("operation", ["search", "recall"])
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_a_fading_memory_is_left_out_unless_asked_for(store, operation, mode):
    # 0.5 · e^(−0.04 · 30) = 0.15
    fading = {"confidence": 0.5, "decay_rate": 0.04, "created_at": NOON - timedelta(days=30)}
    await store.apply([change("fading", "topic", to=NEAR, **fading), change("sure", "topic")])
    shown = {"operation": operation, "mode": mode}
    assert "fading" not in await ids(store, "topic", QUERY, **shown)
    assert "fading" in await ids(store, "topic", QUERY, min_confidence=0, **shown)
    assert "fading" in await ids(store, "topic", QUERY, min_confidence=0.15, **shown)
    assert "fading" not in await ids(store, "topic", QUERY, min_confidence=0.16, **shown)


@pytest.mark.requirement("SE-9")
async def test_get_brings_what_has_faded_unless_a_confidence_is_asked_for(store):
    await store.apply([change("fading", "topic", confidence=0.1), change("sure", "topic")])
    get = {"operation": "get", "memory_ids": ["fading", "sure"]}
    assert await ids(store, **get) == ["fading", "sure"]
    assert await ids(store, **get, min_confidence=0.2) == ["sure"]


@pytest.mark.requirement("SE-10")
@pytest.mark.parametrize("operation", ["search", "recall", "get"])
async def test_being_returned_adds_one_to_the_references(store, operation):
    await store.apply([change("m", "topic", to=NEAR)])
    for n in range(3):
        await store.refer("acme", f"earlier-{n}", ["m"], NOON - timedelta(days=1))
    search = searching(store, QUERY)
    request = SearchRequest.model_validate(
        {"request_id": "r", "tenant_id": "acme", "session_id": "s", "query": "topic"}
        | {"operation": operation, "memory_ids": ["m"]}
    )
    await search.count_references(await search.answer(request))
    assert await store.counts("acme", ["m"]) == {"m": Counts(4, NOON)}


@pytest.mark.requirement("SE-11")
@pytest.mark.parametrize("operation", ["search", "recall"])
@pytest.mark.parametrize(
    ("mode", "fusion"),
    [("semantic", "auto"), ("keyword", "auto"), ("hybrid", "auto"), ("hybrid", "weighted")],
)
async def test_equal_scores_come_newest_first_and_then_by_id(store, operation, mode, fusion):
    older = NOON - timedelta(days=1)
    await store.apply(
        [
            change("b", "topic", to=NEAR, created_at=older),
            change("é", "topic", to=NEAR),
            change("a", "topic", to=NEAR, created_at=older),
            change("Z", "topic", to=NEAR),
        ]
    )
    await store.refer("acme", "r", ["a", "b", "Z", "é"], NOON)
    shown = {"operation": operation, "mode": mode, "fusion": fusion}
    assert await ids(store, "topic", QUERY, **shown) == ["Z", "é", "a", "b"]
    assert await ids(store, "topic", QUERY, **shown, limit=3) == ["Z", "é", "a"]


@pytest.mark.requirement("SE-12")
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
async def test_without_an_embedder_words_find_the_same_as_keyword_search(store, mode, fusion):
    await store.apply(
        [change("a", "topic", to=NEAR), change("b", "topic topic"), change("c", "other", to=NEAR)]
    )
    found = await answer(store, "topic", None, mode=mode, fusion=fusion)
    assert [one.memory_id for one in found] == await ids(store, "topic", None, mode="keyword")
    assert {one.memory_id for one in found} == {"a", "b"}
    assert {one.similarity for one in found} == {None}


@pytest.mark.requirement("SE-12")
@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
async def test_keyword_search_always_runs_in_hybrid(store, fusion):
    await store.apply([change("words", "topic"), change("meaning", "other", to=NEAR)])
    found = await answer(store, "topic", QUERY, fusion=fusion, threshold=0)
    similarity = {one.memory_id: one.similarity for one in found}
    assert similarity == {"words": None, "meaning": 1.0}


@pytest.mark.requirement("SE-4")
async def test_weights_are_07_and_03_and_can_be_chosen(store):
    await store.apply([change("m", "topic", to=like(0.8)), change("n", "other", to=FAR)])
    (worded,) = await answer(store, "topic", QUERY, mode="keyword")
    (found,) = await answer(store, "topic", QUERY, fusion="weighted")
    assert found.score == pytest.approx(0.7 * 0.8 + 0.3 * worded.score)
    await store.override("acme", {"fusion_weights": {"vector": 1.0, "keyword": 3.0}})
    (found,) = await answer(store, "topic", QUERY, fusion="weighted")
    assert found.score == pytest.approx(0.25 * 0.8 + 0.75 * worded.score)


@pytest.mark.requirement("SE-15")
@pytest.mark.parametrize(
    ("mode", "fusion"), [("semantic", "rrf"), ("keyword", "rrf"), ("hybrid", "weighted")]
)
async def test_memories_of_dated_files_lose_half_their_score_in_30_days(store, mode, fusion):
    paths = {"today": "notes/2026-11-16.md", "old": "2026-10-17.md", "other": "MEMORY.md"}
    await store.apply(
        [change(name, "topic", to=NEAR, source_path=path) for name, path in paths.items()]
    )
    found = await answer(store, "topic", QUERY, mode=mode, fusion=fusion)
    score = {one.memory_id: one.score for one in found}
    assert score["today"] == pytest.approx(score["other"] * 2 ** (-0.5 / 30))
    assert score["old"] == pytest.approx(score["other"] * 2 ** (-30.5 / 30))
    assert [one.memory_id for one in found] == ["other", "today", "old"]


@pytest.mark.requirement("SE-15")
async def test_a_memory_of_an_old_dated_file_comes_after_its_equal_in_the_learned_order(store):
    await store.apply(
        [
            change("a", "topic", to=NEAR, source_path="2026-06-01.md"),
            change("b", "topic", to=NEAR, source_path="MEMORY.md"),
        ]
    )
    assert await ids(store, "topic", QUERY) == ["b", "a"]


@pytest.mark.requirement("SE-5", "SE-16")
async def test_weighted_results_below_01_are_discarded_and_then_the_limit_applies(store):
    cosines = [0.9, 0.5, 0.15, 0.14, 0.1]
    await store.apply([change(f"m{n}", "x", to=like(cosine)) for n, cosine in enumerate(cosines)])
    weighted = {"fusion": "weighted"}
    assert await ids(store, "topic", QUERY, **weighted) == ["m0", "m1", "m2"]
    assert await ids(store, "topic", QUERY, **weighted, limit=2) == ["m0", "m1"]
    assert await ids(store, "topic", QUERY, **weighted, min_score=0.3) == ["m0", "m1"]
    assert len(await ids(store, "topic", QUERY, **weighted, min_score=0)) == 5


@pytest.mark.requirement("SE-5")
async def test_the_threshold_of_07_is_for_ranks_and_a_tenants_own_is_for_all(store):
    await store.apply([change(f"m{n:02}", "topic", to=like(0.6 - n / 100)) for n in range(40)])
    by_rank = {"limit": 40}
    assert len(await ids(store, "topic", QUERY, **by_rank)) == 27  # 61 / 87 > 0.7 > 61 / 88
    assert len(await ids(store, "topic", QUERY, **by_rank, operation="recall")) == 40
    assert len(await ids(store, "topic", QUERY, **by_rank, mode="semantic")) == 40
    assert len(await ids(store, "topic", QUERY, **by_rank, mode="keyword")) == 40
    assert len(await ids(store, "topic", QUERY, **by_rank, threshold=0.5)) == 40
    await store.override("acme", {"search_threshold": 0.555})
    assert len(await ids(store, "topic", QUERY, **by_rank)) == 40
    assert len(await ids(store, "topic", QUERY, **by_rank, mode="semantic")) == 5
    recalled = await ids(store, "topic", QUERY, **by_rank, mode="semantic", operation="recall")
    assert len(recalled) == 40
    assert len(await ids(store, "topic", QUERY, **by_rank, mode="semantic", threshold=0)) == 40
