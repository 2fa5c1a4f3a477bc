"""What the ranker looks at, feature by feature, on memories small enough to work out by hand."""

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ranking import FEATURES, GROUPS, PRIOR, Evidence, features, rank
from retrieval.ranking.features import SHARED
from storage import Found
from tests.unit.retrieval.test_search import NOON, hit


def table(*hits, query="cat", frequencies=(2,), memories=4, best=100, mean_rate=None):
    """Return the features of each hit by name."""
    found = Found(hits, frequencies, memories=memories, mean_length=5.0, mean_rate=mean_rate)
    rows = features(Evidence(found), query, best)
    assert rows.shape == (len(hits), len(FEATURES))
    return {
        one.memory_id: dict(zip(FEATURES, row.tolist(), strict=True))
        for one, row in zip(hits, rows, strict=True)
    }


TURNS = (
    hit("a", 0.6, counts=(0,), session_id="s", content="why?"),
    hit("b", 0.2, counts=(2,), session_id="s", content="cat", previous="a", likeness=0.5),
    hit("c", 0.4, counts=(0,), session_id="s", content="dog", previous="b", likeness=0.0),
    hit("alone", 0.8, counts=(1,), content="cat?"),
)


def test_every_feature_belongs_to_one_group_and_every_weight_to_a_feature_or_none():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(FEATURES)
    assert set(FEATURES) <= set(PRIOR)


def test_what_is_about_sessions_is_0_outside_of_them():
    alone = table(*TURNS)["alone"]
    about = [name for name in FEATURES if name.startswith(("in session", "joined", "session"))]
    about += [*GROUPS["neighbours"], *GROUPS["dialogue"]]
    assert {alone[name] for name in about} == {0.0}


def test_own_features():
    own = table(*TURNS)
    # Cosines are scaled from the lowest that was brought to the highest.
    assert [own[name]["cosine"] for name in ("a", "b", "c", "alone")] == pytest.approx(
        [2 / 3, 0.0, 1 / 3, 1.0]
    )
    assert own["alone"]["plain cosine"] == 0.8
    assert (own["b"]["bm25"], own["a"]["bm25"]) == (1.0, 0.0)
    assert 0 < own["alone"]["bm25"] < 1
    assert (own["b"]["coverage"], own["a"]["coverage"]) == (1.0, 0.0)
    assert own["a"]["length"] == pytest.approx(math.log1p(5))
    assert own["b"]["in session: bm25"] == own["b"]["bm25"]


def test_neighbours_see_each_other_one_and_two_away():
    seen = table(*TURNS)
    assert (seen["b"]["previous cosine"], seen["b"]["next cosine"]) == (0.6, 0.4)
    assert (seen["a"]["previous cosine"], seen["a"]["next cosine"]) == (0.0, 0.2)
    assert (seen["c"]["second previous cosine"], seen["a"]["second next cosine"]) == (0.6, 0.4)
    assert seen["b"]["second previous cosine"] == seen["b"]["second next cosine"] == 0.0


def test_a_memory_is_read_together_with_the_one_before_it():
    joined = table(*TURNS)
    assert joined["b"]["joined cosine"] == pytest.approx((0.2 + 0.6) / math.sqrt(3) - 0.2)
    assert joined["c"]["joined cosine"] == pytest.approx((0.4 + 0.2) / math.sqrt(2) - 0.4)
    assert joined["a"]["joined cosine"] == 0.0
    assert (joined["a"]["joined coverage"], joined["c"]["joined coverage"]) == (0.0, 1.0)
    assert joined["c"]["joined bm25"] == joined["b"]["joined bm25"] == 1.0


def test_a_session_fits_as_its_best_and_as_all_its_words():
    own = table(*TURNS, hit("d", 0.1, counts=(1,), session_id="t"))
    assert {own[name]["session cosine"] for name in "abc"} == {0.6}
    assert {own[name]["session words"] for name in "abc"} == {1.0}
    assert own["d"]["session cosine"] == 0.1
    assert own["d"]["session words"] == pytest.approx((1 / 2.2) / (2 / 3.2))


def test_questions_and_what_follows_them():
    own = table(*TURNS)
    assert (own["a"]["question"], own["b"]["question"]) == (1.0, 0.0)
    assert (own["b"]["after a question"], own["c"]["after a question"]) == (1.0, 0.0)


def test_a_title_counts_by_the_share_of_it_that_was_asked_for():
    own = table(
        hit("both", 0.5, counts=(0, 0), title="ada lovelac"),
        hit("one", 0.5, counts=(0, 0), title="ada king lovelac byron"),
        hit("none", 0.5, counts=(0, 0)),
        query="Ada Lovelace",
        frequencies=(0, 0),
    )
    assert [own[name]["title"] for name in ("both", "one", "none")] == [1.0, 0.5, 0.0]


def test_what_the_best_mention_is_one_hop_away():
    own = table(
        hit("best", 0.9, counts=(1,), content="Ada met Charles Babbage"),
        hit("second", 0.8, counts=(0,), content="Mary: Ada again", title="mari"),
        hit("babbage", 0.1, counts=(0,), content="Charles Babbage: x", title="charl babbag"),
        hit("ada", 0.0, counts=(0,), content="Ada: y", title="ada"),
        hit("inside", 0.0, counts=(0,), title="ada", session_id="s"),
    )
    mentioned = {name: row["mentioned by the best"] for name, row in own.items()}
    assert mentioned == {"best": 0, "second": 0, "babbage": 1.0, "ada": 1.0, "inside": 0}


@pytest.mark.requirement("SE-4")
def test_a_title_that_many_share_is_no_title_to_hop_to():
    def mentioned(count):
        shared = [hit(f"ada{n}", 0.1, counts=(0,), title="ada") for n in range(count)]
        own = table(hit("best", 0.9, counts=(1,), content="Hi Ada, and Mary"), *shared)
        return {own[one.memory_id]["mentioned by the best"] for one in shared}

    assert mentioned(SHARED) == {1.0}
    assert mentioned(SHARED + 1) == {0.0}


@pytest.mark.requirement("SE-11")
def test_a_memory_is_not_mentioned_by_one_of_the_same_title():
    said = [
        hit("first", 0.9, counts=(1,), content="Ada: I am Ada", title="ada"),
        hit("other", 0.1, counts=(0,), content="Ada: no", title="ada"),
    ]
    assert {row["mentioned by the best"] for row in table(*said).values()} == {0.0}


@pytest.mark.requirement("SE-11")
def test_of_memories_that_are_as_good_the_newest_mentions_first_and_then_by_id():
    older = NOON - timedelta(days=1)
    hits = [
        hit("b", 0.5, counts=(1,), content="Mary"),
        hit("a", 0.5, counts=(1,), content="Ada"),
        hit("old", 0.5, counts=(1,), content="Kim", created_at=older),
        *(hit(name, 0.0, counts=(0,), title=name) for name in ("ada", "mari", "kim")),
    ]
    for ordered in (hits, hits[::-1]):
        own = table(*ordered)
        rows = [own[name]["mentioned by the best"] for name in ("ada", "mari", "kim")]
        assert rows == [1, 1 / 2, 1 / 3]


def test_a_score_is_the_weighted_sum_and_unknown_names_do_not_count():
    rows = np.arange(2.0 * len(FEATURES)).reshape(2, -1)
    assert rank(rows, {FEATURES[0]: 2.0, FEATURES[3]: -1.0, "unknown": 9.0}).tolist() == [
        2 * 0 - 3,
        2 * len(FEATURES) - (len(FEATURES) + 3),
    ]


@pytest.mark.requirement("SE-11")
@given(
    st.lists(
        st.tuples(
            # Few numbers, so that many tie; titles that the contents name.
            st.none() | st.sampled_from([0.5, 0.5, -0.2]) | st.floats(-1, 1),
            st.integers(0, 3),
            st.sampled_from([None, None, "s", "t"]),
            st.integers(0, 9),
            st.sampled_from(["", "ada", "mari", "charl babbag"]),
            st.sampled_from(["why?", "Ada met Mary", "Mary: yes", "Charles Babbage, Ada"]),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_whatever_was_found_has_finite_features_in_any_order(given, chance):
    hits = [
        hit(
            *(f"m{n}", cosine, "user", None, NOON - timedelta(days=age)),
            counts=(count,),
            session_id=session,
            length=length,
            title=title,
            content=content,
        )
        for n, (cosine, count, session, length, title, content, age) in enumerate(given)
    ]
    mixed = chance.sample(hits, len(hits))
    forwards, backwards = table(*hits), table(*mixed)
    for name, row in forwards.items():
        assert all(math.isfinite(value) for value in row.values())
        assert row == pytest.approx(backwards[name])


@pytest.mark.requirement("TR-7")
def test_what_was_used_for_the_same_question_is_told_apart():
    hits = (
        hit("used", 0.1, counts=(0,), questions=[("cat eat momo", 3.0, 2.0), ("bird", 1.0, 0.0)]),
        hit("passed over", 0.1, counts=(0,), questions=[("cat eat momo", 1.0, 0.0)]),
        hit("alike", 0.1, counts=(0,), questions=[("cat eat", 1.0, 1.0)]),
        hit("newest", 0.1, counts=(0,), questions=[("cat eat", 1.0, 1.0), ("cat momo", 1.0, 0.0)]),
        hit("other", 0.1, counts=(0,), questions=[("dog", 1.0, 1.0)]),
        hit("never", 0.1, counts=(0,)),
    )
    told = table(*hits, query="What does Momo the cat eat?", mean_rate=0.2)
    expected = [1.4 / 4, -0.2 / 2, 2 / 3 * 0.8 / 2, 2 / 3 * -0.2 / 2, 0, 0]
    assert [told[one.memory_id]["asked before"] for one in hits] == pytest.approx(expected)
    assert table(*hits, query="?", mean_rate=0.2)["used"]["asked before"] == 0.0
    assert table(*hits, query="Momo cat eat")["used"]["asked before"] == 0.0
