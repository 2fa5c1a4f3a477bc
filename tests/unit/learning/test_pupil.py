"""The trainer behind texts: the same bits, whatever was read before, and never stuck."""

import json

import numpy as np
import pytest

from learning.config import LearningConfig
from learning.hindsight import Hindsight, told
from learning.lessons import Lesson, condensed, lesson_of
from learning.pupil import Pupil
from learning.state import Learned
from retrieval.ranking import PRIOR
from storage.policies import OrderError
from tests.integration.storage.school import CORRECTABLE, REAL, searches, undisturbed
from topics import TopicNames


def outsized(search, size):
    """Return a search whose numbers are beyond all that can be reckoned with."""
    actions = []
    for action in search.actions:
        choice = dict(action.params["choice"])
        choice["features"] = dict.fromkeys(choice["features"], size)
        actions.append(action.model_copy(update={"params": {"choice": choice}}))
    shown = tuple(
        one.model_copy(
            update={"features": {n: size * (-1) ** k for k, n in enumerate(one.features)}}
        )
        for one in search.shown
    )
    return search.model_copy(update={"actions": tuple(actions), "shown": shown})


@pytest.mark.requirement("TR-5", "TR-10")
def test_what_is_remembered_makes_no_difference():
    log = searches(60)
    fresh = Pupil(
        PRIOR, LearningConfig(gate_lessons=20, gate_z=0.0, ranker_z=0.0), TopicNames(), CORRECTABLE
    )
    one, two = undisturbed(log), undisturbed(log)
    assert one.state == two.state
    # Read from its text by one who never saw it.
    assert fresh.serve(one.state, None, None) == REAL.serve(one.state, None, None)
    assert Learned.loads(one.state).dumps() == one.state


@pytest.mark.requirement("TR-4")
@pytest.mark.parametrize("size", [1e100, 1e200, 1e308])
def test_lessons_beyond_reckoning_are_passed_over_and_hold_up_nobody(size):
    log = searches(100)
    log[25] = outsized(log[25], size)
    study = undisturbed(log)
    assert (study.steps, study.taught.trained) == (5, 100)
    failed = [json.loads(event.told) for steps, _, event in study.events if steps == 2]
    assert any("nothing could be learned" in one["reason"] for one in failed)
    assert np.isfinite([*REAL.serve(study.state, None, None).values()]).all()
    # What came after it was learned from all the same.
    assert study.taught.version > 0
    assert undisturbed(log).state == study.state


@pytest.mark.requirement("TR-9")
def test_what_is_ordered_must_be_possible():
    with pytest.raises(OrderError, match="nothing was learned yet"):
        REAL.obey(None, "promote", "ann", "")
    with pytest.raises(OrderError, match="the shipped policy serves"):
        REAL.obey(None, "rollback", "ann", "")
    taught = REAL.obey(None, "bootstrap", "ann", "a new tenant")
    assert taught.version == 1
    # What templates taught is everybody's anyhow.
    assert taught.contribution is None
    blended = REAL.obey(None, "rollback", "ann", "", blended=True)
    assert (blended.version, [event.kind for event in blended.events]) == (0, ["suspended"])
    assert json.loads(taught.events[0].told)["reason"] == "a new tenant"


@pytest.mark.requirement("TR-9")
def test_hindsight_says_what_the_shipped_choices_would_have_earned():
    """Nothing is learned, so the first of the best is taken for certain: only it counts, twice."""
    lessons = [lesson_of(condensed(one)) for one in searches(40)]
    hindsight = Hindsight(LearningConfig())
    hindsight.look(Learned.fresh(PRIOR), lessons)
    found = hindsight.estimates(1)["route"]
    rewards = np.array([one.experience.reward for one in lessons])
    taken = np.array([_route(one) == "standard" for one in lessons])
    assert found["logged"].value == pytest.approx(rewards.mean())
    assert found["ips"].value == pytest.approx((2 * rewards * taken).mean())
    assert found["snips"].value == pytest.approx(rewards[taken].mean())
    # Without a model doubly robust is plain IPS.
    assert found["dr"].value == pytest.approx(found["ips"].value)
    assert found["dr"].lower < found["dr"].value < found["dr"].upper
    assert told({"route": found})["route"]["ips"]["n"] == 40
    assert hindsight.estimates(1)["route"] == found


def _route(lesson: Lesson) -> str:
    return lesson.experience.chosen[0].choice.option
