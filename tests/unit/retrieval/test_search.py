"""What a search makes of what the store found: order, scores, limits."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import SearchRequest, TenantOverrides
from retrieval.search import Search
from storage import Found, Hit
from tests.unit.agents.conftest import WordEmbedder

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
BY_RANK_ABOVE_07 = 27
"""61 / (60 + 27) is the last score of a rank that is not below the default threshold of 0.7."""
LAYERS = ("agent", "user", "session", "project", "team", "org", "company")


class FoundStore:
    """A store that has found what it is told, and remembers what it was asked."""

    def __init__(self, hits, overrides):
        self._hits = hits
        self._overrides = overrides

    async def find(self, tenant_id, sought, among):
        self.sought, self.among = sought, among
        width = max((len(hit.counts) for hit in self._hits), default=0)
        having = [sum(bool(hit.counts[n]) for hit in self._hits) for n in range(width)]
        return Found(self._hits, having, memories=max(len(self._hits), 1), mean_length=5.0)

    async def overrides(self, tenant_id):
        return TenantOverrides.model_validate(self._overrides)


def hit(memory_id, similarity, layer="user", source_path=None, created_at=NOON, **fields):
    given = {"importance": 5.0, "confidence": 1.0, "last_referenced_at": None, "length": 5}
    content = fields.pop("content", "content")
    return Hit(
        *(memory_id, layer, "global", "fact", content, source_path, created_at, {}),
        **given | {"similarity": similarity} | fields,
    )


async def search(hits, overrides=None, **fields):
    store = FoundStore(hits, overrides or {})
    given = {"request_id": "r", "tenant_id": "t", "session_id": "s", "query": "cat"} | fields
    request = SearchRequest.model_validate(given)
    result = await Search(store, WordEmbedder(), lambda: NOON).answer(request)
    return result.results, store


@pytest.mark.requirement("SE-6")
async def test_the_more_specific_layer_comes_first_among_the_best():
    hits = [hit(layer, 0.9 - n / 10, layer) for n, layer in enumerate(reversed(LAYERS))]
    results, _ = await search(hits)
    assert [found.layer for found in results] == list(LAYERS)
    results, _ = await search(hits, limit=3)
    assert [found.layer for found in results] == ["team", "org", "company"]


@pytest.mark.requirement("SE-15")
async def test_a_memory_of_an_old_dated_file_makes_room_for_the_next():
    hits = [hit("old", 0.9, source_path="2026-09-17.md"), hit("fresh", 0.5)]
    results, _ = await search(hits, mode="semantic", limit=1)
    assert [found.memory_id for found in results] == ["fresh"]
    results, _ = await search(hits, mode="semantic")
    assert results[1].score == pytest.approx(0.9 * 2 ** (-60.5 / 30))
    assert results[1].similarity == 0.9


@pytest.mark.requirement("SE-4", "SE-7", "SE-15")
async def test_what_has_no_rank_can_still_be_recalled_or_left_by_what_faded():
    hits = [hit("near", 0.9, importance=1.0), hit("important", 0.8, importance=10.0)]
    asked = {"fusion": "rrf", "limit": 1}
    results, _ = await search(hits, **asked)
    assert [(found.memory_id, found.score) for found in results] == [
        ("near", pytest.approx((1 / 61 + 1 / 62) * 61 / 2))
    ]
    results, _ = await search(hits, **asked, operation="recall")
    assert [found.memory_id for found in results] == ["important"]
    old = [hit("old", 0.9, source_path="2026-01-01.md"), hit("fresh", 0.5)]
    results, _ = await search(old, **asked)
    assert [found.memory_id for found in results] == ["fresh"]


@pytest.mark.requirement("SE-11")
async def test_ties_come_newest_first_and_then_by_id():
    older = datetime(2026, 11, 15, tzinfo=UTC)
    hits = [hit("b", 0.5), hit("c", 0.5, created_at=older), hit("a", 0.5)]
    results, _ = await search(hits)
    assert [found.memory_id for found in results] == ["a", "b", "c"]


@pytest.mark.requirement("SE-16")
async def test_the_least_score_applies_before_the_limit():
    hits = [hit(f"m{n}", 0.9 - n / 10) for n in range(9)]
    results, _ = await search(hits, mode="semantic", threshold=0.55, limit=2)
    assert [found.memory_id for found in results] == ["m0", "m1"]
    results, _ = await search(hits, mode="semantic", threshold=0.55, min_score=0.75)
    assert [found.memory_id for found in results] == ["m0", "m1"]


@pytest.mark.requirement("SE-9")
async def test_what_was_asked_for_reaches_the_store():
    _, store = await search([], layers=["team"], scope="health", filters={"a": 1})
    assert (store.among.layers, store.among.scope) == (("team",), "health")
    assert (store.among.metadata, store.among.min_confidence) == ({"a": 1}, 0.2)
    _, store = await search([], min_confidence=0)
    assert store.among.min_confidence == 0


@pytest.mark.requirement("SE-5")
@given(
    similarities=st.lists(st.floats(-1, 1), max_size=30),
    mode=st.sampled_from(["hybrid", "semantic"]),
    limit=st.integers(1, 100),
)
async def test_scores_lie_between_0_and_1_and_fall(similarities, mode, limit):
    hits = [hit(f"m{n}", value) for n, value in enumerate(similarities)]
    results, _ = await search(hits, mode=mode, limit=limit)
    scores = [found.score for found in results]
    assert len(scores) == min(limit, len(hits), limit if mode == "semantic" else BY_RANK_ABOVE_07)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
