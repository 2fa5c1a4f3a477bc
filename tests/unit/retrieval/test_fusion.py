"""Ranks and weights of both sides, by hand and for whatever was found."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tenants import FusionWeights
from retrieval.fusion import by_meaning, by_ranks, by_recipe, by_weights, by_words, faded, in_order
from retrieval.ranking import PRIOR, Evidence
from storage import Found
from tests.unit.retrieval.test_search import NOON, hit

HIGHEST = 2 / 61


def evidence(*hits):
    width = max((len(one.counts) for one in hits), default=0)
    having = [sum(bool(one.counts[n]) for one in hits) for n in range(width)]
    return Evidence(Found(hits, having, memories=10, mean_length=5.0))


def scores(scored):
    return {one.hit.memory_id: one.score for one in scored}


BOTH = evidence(
    hit("meaning", 0.9, counts=(0,)),
    hit("both", 0.5, counts=(1,)),
    hit("words", None, counts=(3,)),
    hit("neither", None, counts=(0,)),
    hit("opposite", -0.4, counts=(0,)),
)


@pytest.mark.requirement("SE-4", "SE-5")
def test_reciprocal_ranks_by_hand():
    assert scores(by_ranks(BOTH, 10)) == pytest.approx(
        {
            "meaning": (1 / 61 + 1 / 71) / HIGHEST,
            "both": (1 / 62 + 1 / 62) / HIGHEST,
            "words": (1 / 71 + 1 / 61) / HIGHEST,
            "opposite": (1 / 63 + 1 / 71) / HIGHEST,
        }
    )


@pytest.mark.requirement("SE-4")
def test_lists_are_cut_at_the_limit_and_a_missing_rank_is_one_more():
    # What has neither rank stays behind all that have one: a recall may still prefer it.
    assert scores(by_ranks(BOTH, 1)) == pytest.approx(
        {
            "meaning": (1 / 61 + 1 / 62) / HIGHEST,
            "words": (1 / 62 + 1 / 61) / HIGHEST,
            "both": (1 / 62 + 1 / 62) / HIGHEST,
            "opposite": (1 / 62 + 1 / 62) / HIGHEST,
        }
    )


@pytest.mark.requirement("SE-5")
def test_first_on_both_sides_is_exactly_1():
    assert scores(by_ranks(evidence(hit("m", 0.1, counts=(1,))), 10)) == {"m": 1.0}


@pytest.mark.requirement("SE-4", "SE-12")
def test_weights_are_divided_by_their_sum_and_words_count_fully_without_meaning():
    worded = scores(by_words(BOTH))
    assert set(worded) == {"both", "words"}
    even = scores(by_weights(BOTH, FusionWeights(vector=4.0, keyword=4.0), has_meaning=True))
    assert even == pytest.approx(
        {
            "meaning": 0.45,
            "both": 0.25 + worded["both"] / 2,
            "words": worded["words"] / 2,
            "opposite": 0.0,
        }
    )
    without = scores(by_weights(BOTH, FusionWeights(), has_meaning=False))
    assert {name: without[name] for name in worded} == pytest.approx(worded)
    words_only = scores(by_weights(BOTH, FusionWeights(vector=0.0, keyword=0.2), has_meaning=True))
    assert {name: words_only[name] for name in worded} == pytest.approx(worded)


@pytest.mark.requirement("SE-5")
def test_an_opposite_meaning_scores_nothing_and_no_vector_is_not_found():
    found = scores(by_meaning(BOTH))
    assert found == {"meaning": 0.9, "both": 0.5, "opposite": 0.0}


@pytest.mark.requirement("SE-15")
def test_an_old_dated_file_falls_behind_in_the_learned_order_but_not_out_of_it():
    def ordered(path):
        found = evidence(hit("dated", 0.8, source_path=path), hit("plain", 0.79))
        return [one.hit.memory_id for one in by_recipe(found, "q", 100, PRIOR, NOON)]

    assert ordered("2026-11-16.md") == ["dated", "plain"]
    assert ordered("MEMORY.md") == ["dated", "plain"]
    assert ordered("1066-10-14.md") == ["plain", "dated"]
    assert by_recipe(evidence(), "q", 100, PRIOR, NOON) == []


HITS = st.lists(
    st.tuples(
        st.none() | st.floats(-1, 1),
        st.integers(0, 50),
        st.integers(0, 3),
        st.sampled_from([None, "2026-10-17.md"]),
    ),
    max_size=12,
)


@pytest.mark.requirement("SE-5", "SE-11")
@given(
    given=HITS, limit=st.integers(1, 12), vector=st.floats(0, 1e300), keyword=st.floats(0.01, 1e9)
)
def test_all_scores_lie_between_0_and_1_and_ties_are_settled(given, limit, vector, keyword):
    found = evidence(
        *(
            hit(
                *(f"m{n}", cosine, "user", path, NOON - timedelta(days=age)),
                counts=(count,),
                length=max(count, 1),
            )
            for n, (cosine, count, age, path) in enumerate(given)
        )
    )
    for scored in (
        by_meaning(found),
        by_words(found),
        by_ranks(found, limit),
        by_weights(found, FusionWeights(vector=vector, keyword=keyword), has_meaning=True),
        by_recipe(found, "cat", 100, PRIOR, NOON),
    ):
        assert all(0 <= one.score <= 1 for one in scored)
        names = [one.hit.memory_id for one in scored]
        assert len(names) == len(set(names)) <= len(given)
        for ordered in (in_order(scored), faded(scored, NOON)):
            keys = [
                (-one.score, -one.hit.created_at.timestamp(), one.hit.memory_id) for one in ordered
            ]
            assert keys == sorted(keys)
            assert all(0 <= one.score <= 1 for one in ordered)
