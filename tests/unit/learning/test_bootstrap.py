"""Cold start: templates teach what the lexical score says, and the seed's examples stay put."""

from dataclasses import replace

import pytest

from learning.bootstrap import TEMPLATES, synthetic
from learning.config import LearningConfig
from learning.promotion import promoted, trial_bounds
from learning.running import Running
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import Trainer
from models import InForce
from models.choices import probabilities
from retrieval.routing import Router
from retrieval.routing.signals import complexity, signals
from tests.unit.learning.test_trainer import PRIOR, lessons

CONFIG = LearningConfig()
STANDARD = [
    "What database does the API team use?",
    "Show me recent authentication decisions",
    "what is the login endpoint",
]
RLM = [
    "Compare error handling patterns across all Platform Engineering teams",
    "compare patterns across teams",
    "trace evolution of auth since last quarter",
]


@pytest.mark.requirement("TR-6")
def test_templates_are_lessons_with_the_outcome_to_be_expected():
    assert [template.name for template in TEMPLATES] == ["simple", "moderate", "complex"]
    lessons = synthetic(TEMPLATES)
    assert all(lesson.new and lesson.experience.trainable for lesson in lessons)
    assert len({lesson.experience.trajectory_id for lesson in lessons}) == len(lessons)
    by_route = {
        (one.name, route): reward for one in TEMPLATES for route, reward in one.rewards.items()
    }
    assert by_route["simple", "standard"] > by_route["simple", "rlm"]
    assert by_route["complex", "standard"] < by_route["complex", "rlm"]


@pytest.mark.requirement("TR-6", "RT-5", "RT-8")
@pytest.mark.parametrize("sharpness", [0.0, 1.0, 20.0])
def test_the_examples_of_the_seed_still_route_as_it_says(sharpness):
    step = Trainer({}).bootstrap(Learned.fresh({}), actor="ann", reason="new tenant")
    (event,) = step.events
    assert (event.kind, event.version, event.actor) == ("bootstrapped", 1, "ann")
    weights = serving_weights(step.state, None, {}, CONFIG)
    for queries, route in ((STANDARD, "standard"), (RLM, "rlm")):
        for query in queries:
            found = signals(query)
            score = complexity(found)
            options = {"standard": 0.0, "rlm": sharpness * (score - 0.3)}
            known = Router().route(query, InForce()).chosen.features
            chances = probabilities("route", options, known, weights, 0.0)
            assert chances[route] > 0.9, (query, chances)


@pytest.mark.requirement("TR-6")
def test_what_was_learned_before_is_kept():
    trainer = Trainer({})
    once = trainer.bootstrap(Learned.fresh({})).state
    twice = trainer.bootstrap(once).state
    assert twice.version == 2
    assert twice.trained == 0
    assert twice.serving.points["route"].lessons == 2 * once.serving.points["route"].lessons
    back = trainer.rollback(twice).state
    assert back.serving.dump() == once.serving.dump()
    assert trainer.rollback(back).state.serving.parts == ()


@pytest.mark.requirement("TR-6", "TR-8", "TR-9")
def test_templates_are_nobodys_evidence():
    """They are added where something serves or is judged, and are neither given nor promoted."""
    trainer = Trainer(PRIOR)
    fresh, batch = Learned.fresh(PRIOR), lessons(0, 40)
    plain = trainer.step(fresh, batch[:20]).state
    taught = trainer.step(trainer.bootstrap(fresh).state, batch[:20]).state
    for state in (taught, Learned.loads(taught.dumps())):
        assert state.champion.parts == ()
        assert state.contribution(CONFIG).dumps() == plain.contribution(CONFIG).dumps()
        assert state.learner.dump() == plain.learner.dump()
        # No part is easier to promote than it would be without them.
        assert _sureness("route", state) == _sureness("route", plain) == CONFIG.blind_z
        # Learner and champion are judged with them: what both know is no difference.
        learner = state.origin.with_templates(state.learner)
        assert learner.points["route"].lessons > state.learner.points["route"].lessons
    after = promoted(taught, ["route"], CONFIG)
    own = serving_weights(promoted(plain, ["route"], CONFIG), None, PRIOR, CONFIG)
    assert serving_weights(after, None, PRIOR, CONFIG) != own
    given = after.contribution(CONFIG).evidence.points["route"]
    assert given.lessons == plain.learner.points["route"].lessons


def _sureness(part, state):
    """Return by how many standard errors a part must be better, from its bounds."""
    many = Running().with_all([0.1 * (-1) ** n for n in range(10**4)])
    lower, _ = trial_bounds(replace(state, trials={part: many}), CONFIG)[part]
    return round(-lower / 0.001, 2)
