"""Scores and order of every mode against an oracle that looks at each memory the slow way."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import SearchRequest
from tests.integration.storage import oracle
from tests.integration.storage.corpus import NOON, VECTORS, GridEmbedder, change, searching

KEYS = {"memory_id", "layer", "scope", "kind", "content", "score", "similarity", "created_at"}
NEARLY = 1e-9

TEXT = st.lists(st.sampled_from(sorted(oracle.STEM)), min_size=1, max_size=5).map(" ".join)
FEW = st.sampled_from

# What is listed more often is drawn more often: most memories should be found by most requests.
MEMORY = st.builds(
    oracle.Memory,
    memory_id=st.just(""),
    content=TEXT,
    vector=FEW([None, *VECTORS]),
    created_at=FEW([0, 0, 1, 7, 30, -1]).map(lambda days: NOON - timedelta(days=days)),
    layer=FEW(oracle.LAYERS),
    scope=FEW(["global", "global", "health", "general"]),
    kind=FEW(["fact", "fact", "rule", "episode"]),
    importance=FEW([0.0, 2.5, 5.0, 10.0]),
    confidence=FEW([1.0, 1.0, 1.0, 0.5, 0.2, 0.1]),
    decay_rate=FEW([0.0, 0.0, 0.05]),
    dated=FEW([None, None, None, 0, 30, 365, -2]).map(lambda days: _midnight(days)),
)
WEIGHT = FEW([0.0, 0.1, 1.0, 3.0])
ASKED = st.builds(
    oracle.Asked,
    query=TEXT,
    vector=FEW([None, *VECTORS]),
    at=st.just(NOON),
    mode=FEW(["hybrid", "semantic", "keyword", "hybrid"]),
    fusion=FEW(["rrf", "weighted"]),
    operation=FEW(["search", "recall"]),
    limit=FEW([3, 1, 2, 5, 100]),
    layers=FEW([None, None, None, ("user", "team", "org"), ("agent",)]),
    scope=FEW([None, None, None, "global", "health", "%"]),
    threshold=FEW([0.0, None, 0.0, None, 0.3, 0.9]),
    min_score=FEW([None, None, 0.0, 0.25]),
    min_confidence=FEW([None, None, 0.0, 0.45]),
    own_threshold=FEW([None, None, 0.0, 0.5]),
    vector_weight=FEW([0.7, 0.7, 0.0, 2.0]),
    keyword_weight=FEW([0.3, 0.3, 0.0, 0.5, 1.0]),
    recall_weights=st.fixed_dictionaries(
        {"relevance": WEIGHT, "importance": WEIGHT, "recency": WEIGHT, "confidence": WEIGHT}
    ).filter(lambda weights: sum(weights.values()) > 0),
).filter(lambda asked: asked.vector_weight + asked.keyword_weight > 0)
TENANTS = (f"tenant-{n}" for n in itertools.count())


def _midnight(days):
    return None if days is None else NOON.replace(hour=0) - timedelta(days=days)


def numbered(memories):
    return [replace(memory, memory_id=f"m{n}") for n, memory in enumerate(memories)]


def written(memory, tenant, **other):
    path = memory.dated and f"notes/{memory.dated.date().isoformat()}.md"
    names = ("created_at", "layer", "scope", "kind", "importance", "confidence", "decay_rate")
    fields = {name: getattr(memory, name) for name in names}
    return change(
        *(memory.memory_id, memory.content),
        **{"to": memory.vector, "tenant": tenant, "source_path": path} | fields | other,
    )


async def tell(store, tenant, asked):
    await store.override(
        tenant,
        {
            "search_threshold": asked.own_threshold,
            "fusion_weights": {"vector": asked.vector_weight, "keyword": asked.keyword_weight},
            # The scope's own are the ones in force where it is asked for.
            "recall_weights": asked.recall_weights
            if asked.scope is None
            else {"scopes": {asked.scope: asked.recall_weights}},
        },
    )


async def ask(store, tenant, asked, **other):
    names = ("mode", "fusion", "operation", "limit", "layers", "scope")
    names += ("threshold", "min_score", "min_confidence")
    given = {name: getattr(asked, name) for name in names} | other
    request = SearchRequest.model_validate(
        {"request_id": "r", "tenant_id": tenant, "session_id": "s", "query": asked.query} | given
    )
    embedder = GridEmbedder({asked.query: asked.vector}) if asked.vector else None
    return await searching(store, embedder, asked.at).answer(request)


def check_shape(result, asked, tenant):
    assert (result.status, result.degraded, result.error) == ("ok", False, None)
    by_id = {memory.memory_id: memory for memory in tenant}
    for found in result.results:
        memory = by_id[found.memory_id]
        assert set(found.model_dump()) == KEYS | {"metadata"}
        assert 0 <= found.score <= 1
        assert (found.layer, found.scope, found.kind) == (memory.layer, memory.scope, memory.kind)
        assert found.similarity == pytest.approx(oracle.cosine(memory, asked), abs=1.1e-6)


@pytest.mark.requirement("SE-4", "SE-5", "SE-6", "SE-7", "SE-8", "SE-9", "SE-11", "SE-15", "SE-16")
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    memories=st.lists(MEMORY, min_size=4, max_size=9).map(numbered),
    requests=st.lists(ASKED, min_size=3, max_size=6),
)
async def test_every_answer_is_what_the_requirements_say(store, memories, requests):
    tenant = next(TENANTS)
    await store.apply([written(memory, tenant) for memory in memories])
    for asked in requests:
        await tell(store, tenant, asked)
        result = await ask(store, tenant, asked)
        check_shape(result, asked, memories)
        best = oracle.expected(asked, memories)
        assert [found.memory_id for found in result.results] == [one.memory_id for one, _ in best]
        scores = [found.score for found in result.results]
        assert scores == pytest.approx([score for _, score in best], abs=1.1e-6)


@pytest.mark.requirement("SE-4", "SE-5", "SE-7", "SE-8", "SE-9")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=st.lists(MEMORY, min_size=4, max_size=9).map(numbered), asked=ASKED)
async def test_the_learned_order_is_scored_by_rank_and_recall_builds_on_it(store, memories, asked):
    tenant = next(TENANTS)
    await store.apply([written(memory, tenant) for memory in memories])
    await tell(store, tenant, asked)
    everything = {"mode": "hybrid", "fusion": "auto", "threshold": 0.0, "min_score": 0.0}
    full = await ask(store, tenant, asked, **everything, operation="search", limit=100)
    check_shape(full, replace(asked, mode="hybrid"), memories)
    rank_order = sorted(full.results, key=lambda found: -found.score)
    assert [found.score for found in rank_order] == pytest.approx(
        [61 / (60 + rank) for rank in range(1, len(rank_order) + 1)]
    )
    plain = replace(asked, mode="hybrid", fusion="weighted")
    found_at_all = {memory.memory_id for memory, _ in oracle.relevances(plain, memories)}
    assert {found.memory_id for found in full.results} == found_at_all
    by_precedence = sorted(rank_order, key=lambda found: oracle.LAYERS.index(found.layer))
    assert list(full.results) == by_precedence

    cut = await ask(store, tenant, asked, mode="hybrid", fusion="auto", operation="search")
    least = oracle.least_score(
        replace(asked, mode="hybrid", fusion="auto", operation="search"), has_meaning=True
    )
    kept = [found for found in rank_order if found.score >= least][: asked.limit]
    assert sorted(cut.results, key=lambda found: -found.score) == kept

    relevance = {found.memory_id: found.score for found in full.results}
    again = await ask(store, tenant, asked, **everything, operation="recall", limit=100)
    by_id = {memory.memory_id: memory for memory in memories}
    best = oracle.ordered(
        (by_id[one], oracle.recalled(by_id[one], score, asked)) for one, score in relevance.items()
    )
    assert [found.memory_id for found in again.results] == [one.memory_id for one, _ in best]
    assert [found.score for found in again.results] == pytest.approx([score for _, score in best])
