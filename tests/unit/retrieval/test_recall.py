"""The four signals of a recall and their weights."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tenants import RecallWeights, ScopeWeights
from retrieval.fusion import Scored
from retrieval.recall import composite, recency
from tests.unit.retrieval.test_search import NOON, hit

SIGNAL = st.floats(0, 1)
WEIGHTS = st.tuples(*[st.floats(0, 1e6)] * 4).filter(lambda weights: sum(weights) > 1e-300)


@pytest.mark.requirement("SE-7")
@pytest.mark.parametrize(
    ("days", "expected"), [(0, 1.0), (7, 0.5), (14, 0.25), (-3, 1.0), (36_500, 0.0)]
)
def test_recency_halves_every_week_since_the_last_reference(days, expected):
    moment = NOON + timedelta(days=days)
    old = NOON - timedelta(days=1000)
    assert recency(hit("m", None, created_at=NOON), moment) == pytest.approx(expected)
    referenced = hit("m", None, created_at=old, last_referenced_at=NOON)
    assert recency(referenced, moment) == pytest.approx(expected)


@pytest.mark.requirement("SE-7")
def test_the_default_weights_are_those_of_the_specification():
    one = hit("m", None, importance=10.0, confidence=0.5, created_at=NOON - timedelta(days=7))
    [scored] = composite([Scored(one, 0.25)], ScopeWeights(), NOON)
    assert scored.score == pytest.approx(0.4 * 0.25 + 0.3 * 1 + 0.2 * 0.5 + 0.1 * 0.5)


@pytest.mark.requirement("SE-7")
def test_a_scopes_weights_come_before_the_tenants():
    own = RecallWeights(relevance=1.0, scopes={"health": ScopeWeights(relevance=2.0)})
    assert own.of("health").relevance == 2.0
    assert own.of("general").relevance == own.of(None).relevance == 1.0


@pytest.mark.requirement("SE-5", "SE-7")
@given(signals=st.lists(st.tuples(SIGNAL, SIGNAL, SIGNAL), max_size=8), weights=WEIGHTS)
def test_scores_lie_between_0_and_1_and_fall(signals, weights):
    names = ("relevance", "importance", "recency", "confidence")
    scored = [
        Scored(hit(f"m{n}", None, importance=10 * important, confidence=confident), relevant)
        for n, (relevant, important, confident) in enumerate(signals)
    ]
    chosen = ScopeWeights(**dict(zip(names, weights, strict=True)))
    scores = [one.score for one in composite(scored, chosen, NOON)]
    assert len(scores) == len(signals)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.requirement("TR-7", "SE-7")
def test_value_counts_only_where_it_is_wanted():
    used = hit("used", None, created_at=NOON)._replace(value=0.8)
    seen = hit("seen", None, created_at=NOON)._replace(value=0.1)
    unknown = hit("unknown", None, created_at=NOON)
    scored = [Scored(one, 0.5) for one in (seen, unknown, used)]
    assert len({one.score for one in composite(scored, ScopeWeights(), NOON)}) == 1
    best, middle, last = composite(scored, ScopeWeights(value=0.5), NOON)
    assert [one.hit.memory_id for one in (best, middle, last)] == ["used", "seen", "unknown"]
    assert best.score - last.score == pytest.approx(0.5 * 0.8 / 1.5)
