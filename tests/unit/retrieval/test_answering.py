"""What exploration may touch of an answer, and what it may not."""

from types import SimpleNamespace

import pytest

from models import SearchRequest
from retrieval.answering import Answering
from retrieval.choosing import Policy
from retrieval.routing import Router
from retrieval.search import Search
from tests.unit.agents.conftest import WordEmbedder
from tests.unit.retrieval.test_search import NOON, FoundStore, hit

HITS = [hit(f"m{n}", 0.9 - n / 10, counts=(n % 3,)) for n in range(8)]
ASKED = 60
"""Requests that differ in nothing but their ids: at full exploration half of them are swapped."""


def exploring():
    """Return what answers for a tenant that tries all it may try."""

    async def of(tenant_id):
        return Policy(1, exploration=1.0)

    search = Search(
        FoundStore(HITS, {}),
        WordEmbedder(),
        lambda: NOON,
        policies=SimpleNamespace(of=of),
    )
    return Answering(search, Router(), decomposition=None)


async def answers(**fields):
    """Return each answer with what was told of its places, and what plain search says to it."""
    answering, told = exploring(), []
    for number in range(ASKED):
        given = {"tenant_id": "t", "session_id": "s", "query": "cat", "threshold": 0} | fields
        request = SearchRequest.model_validate({"request_id": f"r{number}"} | given)
        routing = (await answering.route(request)).standard("too_large")
        answered = await answering.answer(request, routing)
        plain = await answering.search.answer(request)
        told.append((answered.result.results, answered.placed, plain.results))
    return told


@pytest.mark.requirement("SE-4", "SE-5", "SE-11")
@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "semantic"},
        {"mode": "keyword"},
        {"fusion": "rrf"},
        {"fusion": "weighted"},
        {"strategy": "semantic-only"},
        {"fusion": "rrf", "operation": "recall"},
        {"operation": "recall", "mode": "semantic"},
    ],
)
async def test_who_asks_for_a_mode_or_a_fusion_gets_exactly_that(asked):
    for results, placed, plain in await answers(**asked):
        assert results == plain
        assert placed is None


@pytest.mark.requirement("SE-4", "TJ-3")
async def test_only_the_learned_order_is_swapped():
    told = await answers()
    first = [results[0].memory_id for results, _, _ in told]
    assert len(set(first)) > 1
    assert all(placed is not None for _, placed, _ in told)
