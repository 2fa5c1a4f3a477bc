"""Outcomes: what is known decides, not the order in which it was heard."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.outcomes import Aftermath, outcome
from learning.rewording import is_reworded
from models import ContextUsage, Feedback, QueryRefinement, SessionAbandonment

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NAMED = {"tenant_id": "acme", "session_id": "s", "request_id": "r"}
ANEW = "name of her cat"


def use(quality=1.0, event_id="u", memory_ids=("m",)):
    named = NAMED | {"event_id": event_id, "memory_ids": memory_ids}
    return ContextUsage(**named, quality_score=quality)


def said(quality, event_id="f"):
    return Feedback(**NAMED, event_id=event_id, quality_score=quality)


def reworded(new_query="other words", event_id="q"):
    return QueryRefinement(**NAMED, event_id=event_id, new_query=new_query)


GAVE_UP = SessionAbandonment(**NAMED, event_id="a")

qualities = st.sampled_from([0.0, 0.25, 0.5, 1.0])
ids = st.sampled_from("abc")
signals = st.one_of(
    st.builds(use, qualities, ids, st.sampled_from([(), ("m",), ("n", "m")])),
    st.builds(said, qualities, ids),
    st.builds(reworded, st.sampled_from(["x", "y"]), ids),
    st.just(GAVE_UP),
)
heard = st.lists(
    st.tuples(signals, st.integers(0, 2).map(lambda s: NOON + timedelta(seconds=s))), max_size=6
)


def known(events):
    after = Aftermath()
    for signal, at in events:
        after = after.after(signal, at)
    return after


def came_of(*signals, next_query=None, expired=False, query="her cat's name"):
    return outcome(known([(one, NOON) for one in signals]), query, next_query, expired=expired)


@pytest.mark.requirement("TR-2")
@given(heard, st.data())
def test_neither_order_nor_repetition_leaves_a_trace(events, data):
    repeated = events + data.draw(
        st.lists(st.sampled_from(events), max_size=4) if events else st.just([])
    )
    assert known(data.draw(st.permutations(repeated))) == known(events)
    written = known(events).model_dump_json(exclude_defaults=True)
    assert Aftermath.model_validate_json(written) == known(events)


@pytest.mark.requirement("TR-1", "TR-2")
@given(
    heard,
    st.sampled_from([None, "", "her cat's name", "name of her cat", "weather"]),
    st.booleans(),
)
def test_used_before_refined_before_ignored_before_nothing(events, next_query, expired):
    came = outcome(known(events), "her cat's name", next_query, expired=expired)
    kinds = {type(one) for one, _ in events if getattr(one, "memory_ids", True)}
    if kinds & {ContextUsage, Feedback}:
        assert came.type == "result_used"
    elif QueryRefinement in kinds or next_query == "name of her cat":
        assert came.type == "query_refined"
    elif SessionAbandonment in kinds or (expired and next_query is not None):
        assert came.type == "result_ignored"
    elif expired:
        assert came.type == "no_signal"
    else:
        assert came is None
    if known(events).decisive:
        assert came == outcome(known(events), "her cat's name", next_query, expired=True)


@pytest.mark.requirement("TR-1")
def test_the_best_use_counts():
    assert came_of(use(0.2), use(0.9, "v"), use(0.5, "w")).quality_score == 0.9
    assert came_of(use(memory_ids=())) is None


@pytest.mark.requirement("TR-2")
def test_what_was_said_last_overrides_use():
    earlier, later = NOON, NOON + timedelta(seconds=1)
    events = [(said(0.1, "late"), later), (use(1.0), later), (said(0.8, "early"), earlier)]
    assert outcome(known(events), "q", None, expired=False).quality_score == 0.1
    assert came_of(said(0.3, "a"), said(0.7, "b"), said(0.5, "aa")).quality_score == 0.7


@pytest.mark.requirement("TR-1")
def test_the_first_rewording_counts():
    later = [(reworded("second", "a"), NOON + timedelta(seconds=1)), (reworded("first", "b"), NOON)]
    assert outcome(known(later), "q", None, expired=False).new_query == "first"


@pytest.mark.requirement("TR-1", "TR-2")
def test_the_next_search_tells_of_a_rewording_unless_the_result_was_used():
    assert came_of(next_query=ANEW).new_query == "name of her cat"
    assert came_of(GAVE_UP, next_query=ANEW).type == "query_refined"
    assert came_of(use(), next_query=ANEW).type == "result_used"
    assert came_of(reworded("theirs"), next_query=ANEW).new_query == "theirs"
    assert came_of(next_query="weather") is None


@pytest.mark.requirement("TR-2")
def test_silence_is_ignoring_only_if_the_session_went_on():
    assert came_of(expired=True).type == "no_signal"
    assert came_of(expired=True, next_query="weather").type == "result_ignored"
    assert came_of(expired=True, next_query="").type == "result_ignored"
    assert came_of(GAVE_UP).type == "result_ignored"


@pytest.mark.requirement("TR-1")
@pytest.mark.parametrize(
    ("query", "later", "reworded"),
    [
        ("her cat's name", "What is her cat called?", True),
        ("her cat's name", "the name of her cat", True),
        ("her cat's name", "Her  CAT's name", False),
        ("her cat's name", "her cat’s name", False),
        ("cats", "cat", True),
        ("deployment failed in Berlin", "why did the deployment fail", True),
        ("deployment failed in Berlin office yesterday", "weather in Berlin this afternoon", False),
        ("who is it", "who was it", True),
        ("what", "when", False),
        ("", "cat", False),
        ("?", "!", False),
        ("weather", "her cat's name", False),
        ("東京の天気", "東京の今日の天気", True),
        ("東京の天気", "大阪の人口", False),
        ("東京の天気", "東京の天気", False),
        ("猫", "犬", False),
        ("날씨 서울", "서울 오늘 날씨", True),
    ],
)
def test_a_rewording_is_similar_and_not_the_same(query, later, reworded):
    assert is_reworded(query, later) is reworded


@pytest.mark.requirement("TR-1", "TR-7")
def test_which_memories_were_used_is_known():
    after = known([(use(memory_ids=("n", "m")), NOON), (use(0.5, "v", ("l", "m")), NOON)])
    assert (after.used, after.memories) == (1.0, ("l", "m", "n"))
