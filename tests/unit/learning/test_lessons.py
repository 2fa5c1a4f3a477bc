"""Lessons: what is taken from a trajectory, and what is left behind."""

from datetime import UTC, datetime

import pytest

from learning.lessons import Experience, condensed, lesson_of
from models import Trajectory

MOMENT = datetime(2026, 11, 16, tzinfo=UTC)


def trajectory(**other) -> Trajectory:
    choice = {
        "point": "route",
        "option": "rlm",
        "options": {"standard": 0.0, "rlm": 0.1},
        "features": {"always": 1.0, "score": 1 / 3},
        "exploration": 0.1,
    }
    action = {
        "kind": "Route",
        "params": {"route": "rlm", "choice": choice},
        "depth": 0,
        "started_at": MOMENT,
        "duration_ms": 1.0,
        "tokens": 0,
        "result_count": 0,
        "propensity": 0.05,
    }
    plain = {**action, "kind": "SearchLayer", "params": {"query": "secret"}, "propensity": 1.0}
    fields = {
        "trajectory_id": "t1",
        "request_id": "r1",
        "tenant_id": "acme",
        "session_id": "a-session",
        "query": "a secret question",
        "complexity_score": 0.2,
        "signals": {"multi_layer": 0.1, "aggregation": 0, "comparison": 0, "structure": 0.1},
        "route": "rlm",
        "actions": [action, plain],
        "shown": [
            {"memory_id": "m1", "rank": 1, "propensity": 1.0, "features": {"b": 0.1, "a": 2.0}},
            {"memory_id": "m2", "rank": 2, "propensity": 0.1, "features": {"a": 0.3, "c": 1.0}},
        ],
        "tokens_used": 3,
        "max_depth": 1,
        "result_count": 2,
        "policy_version": 4,
        "started_at": MOMENT,
        "completed_at": MOMENT,
        "revision": 2,
        "outcome": {"type": "result_used", "quality_score": 0.5},
        "used": ["m2"],
        "reward": 0.1 + 0.2,
        "trainable": True,
        "labelled_at": MOMENT,
    }
    return Trajectory.model_validate({**fields, **other})


@pytest.mark.requirement("TR-4", "TR-8")
def test_what_a_lesson_needs_is_kept_to_the_last_digit_and_no_more():
    text = condensed(trajectory())
    read = Experience.loads(text)
    assert read == Experience.of(trajectory())
    assert read.dumps() == text
    assert read.reward == 0.1 + 0.2
    assert (read.policy_version, read.revision, read.trainable) == (4, 2, True)
    assert [one.choice.option for one in read.chosen] == ["rlm"]
    assert read.chosen[0].propensity == 0.05
    assert read.names == ("a",)
    assert [(one.memory_id, one.rank, one.used, one.row) for one in read.placed] == [
        ("m1", 1, False, (2.0,)),
        ("m2", 2, True, (0.3,)),
    ]
    assert read.question == "question secret"  # Stems only, for what is asked again.
    for private in ("secret question", "a-session", "r1", "acme"):
        assert private not in text


@pytest.mark.requirement("TR-2")
def test_a_lesson_knows_what_it_corrects():
    old, new = condensed(trajectory(revision=1, reward=0.0)), condensed(trajectory())
    lesson = lesson_of(new, old)
    assert lesson.before is not None
    assert (lesson.before.reward, lesson.experience.reward) == (0.0, 0.1 + 0.2)
    assert not lesson.new
    assert lesson_of(new).new


@pytest.mark.requirement("TR-4")
def test_a_choice_that_cannot_be_read_is_refused():
    broken = trajectory().model_copy(deep=True)
    action = broken.actions[0].model_copy(update={"params": {"choice": {"point": "weather"}}})
    with pytest.raises(ValueError, match="point"):
        condensed(broken.model_copy(update={"actions": (action,)}))


@pytest.mark.requirement("TR-4")
def test_a_search_without_choices_or_results_is_a_lesson_too():
    read = Experience.loads(condensed(trajectory(actions=[], shown=[], used=[])))
    assert (read.chosen, read.names, read.placed) == ((), (), ())
