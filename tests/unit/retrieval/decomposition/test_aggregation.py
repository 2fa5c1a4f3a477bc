"""One result set: merged, side by side, or condensed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.decomposition.aggregation import combined, compared, summarized
from retrieval.fusion import Scored, by_place
from tests.unit.retrieval.test_search import hit

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def ranked(*names, **contents):
    return by_place(Scored(hit(n, None, content=contents.get(n, n)), 0.0) for n in names)


def ids(scored):
    return [one.hit.memory_id for one in scored]


@pytest.mark.requirement("RX-6")
def test_combine_merges_and_puts_first_what_a_model_found_telling():
    assert ids(combined(ranked("a", "b", "a", "c"))) == ["a", "b", "c"]
    assert ids(combined(ranked("a", "b", "c", "d"), ("c", "b"))) == ["b", "c", "a", "d"]


@pytest.mark.requirement("RX-6")
def test_parts_that_were_searched_by_themselves_count_as_much_as_the_question():
    whole = ranked("a", "b", "c", "d")
    assert ids(combined(whole, (), [ranked("d", "c")])) == ["d", "c", "a", "b"]


@pytest.mark.requirement("RX-6")
def test_compare_takes_the_sides_in_turn_and_then_the_rest():
    sides = [ranked("a", "b", "c"), ranked("x"), []]
    assert ids(compared(sides, ranked("z", "a"))) == ["a", "x", "b", "c", "z"]


@pytest.mark.requirement("RX-6")
def test_summarize_prefers_what_says_something_new():
    same = {"a": "tea is green and hot", "b": "tea is green and hot", "c": "coffee bean roasting"}
    assert ids(summarized(ranked("a", "b", "c", **same))) == ["a", "c", "b"]


@pytest.mark.requirement("RX-6", "SE-5")
@given(IDS, IDS, st.lists(IDS, max_size=3))
def test_nothing_is_lost_or_doubled_and_scores_fall(names, cited, sides):
    everything = {*names, *(name for side in sides for name in side)}
    whole = ranked(*names, *everything)
    for found in (
        combined(whole, cited),
        combined(whole, cited, [ranked(*side) for side in sides]),
        compared([ranked(*side) for side in sides], whole),
        summarized(combined(whole)),
    ):
        assert sorted(ids(found)) == sorted(everything)
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
