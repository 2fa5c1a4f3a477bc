"""Steps: what they change, that they can be written down in between, and what operators do."""

import dataclasses
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.config import LearningConfig
from learning.lessons import Chosen, Experience, Lesson, Placed
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer, exploration
from models.choices import Choice
from storage.worth import Worth

PRIOR = {"cosine": 2.0, "bm25": 1.0}
CONFIG = LearningConfig()
TRAINER = Trainer(PRIOR)
MOVES = {"search": 1.0, "stop": 0.0, "ask": 0.5}


def experience(seed: int, **other) -> Experience:
    chance = random.Random(seed)
    chosen = [_chosen(chance, "route", {"standard": 0.0, "rlm": -1.0})]
    chosen += [_chosen(chance, "move", MOVES) for _ in range(chance.randrange(3))]
    placed = tuple(
        Placed(
            f"m{chance.randrange(40)}-{rank}",
            rank,
            0.1 if seed % 5 == rank - 1 or seed % 5 == rank - 2 else 1.0,
            chance.random() < 0.3,
            (chance.random(), chance.random()),
        )
        for rank in range(1, 6)
    )
    fields = {
        "revision": 0,
        "policy_version": 0,
        "reward": chance.uniform(-1, 1),
        "trainable": chance.random() < 0.9,
        "chosen": tuple(chosen),
        "names": ("bm25", "cosine"),
        "placed": placed,
    }
    return Experience(f"t{seed}", **{**fields, **other})


def _chosen(chance, point, options):
    features = {"always": 1.0, "score": chance.random()}
    choice = Choice(
        point=point,
        option=chance.choice([*options]),
        options=options,
        features=features,
        exploration=0.3,
    )
    return Chosen(choice, chance.uniform(0.1, 0.9))


def lessons(start, count=STEP):
    return [Lesson(experience(seed)) for seed in range(start, start + count)]


@pytest.mark.requirement("TR-4", "TR-9")
def test_before_the_first_step_everything_is_the_prior():
    fresh = Learned.fresh(PRIOR)
    assert fresh.exploration == 0
    assert serving_weights(fresh, None, PRIOR, CONFIG) == {"rank/bm25": 1.0, "rank/cosine": 2.0}


@pytest.mark.requirement("TR-5", "TR-10")
@settings(max_examples=15)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.booleans())
def test_stopping_between_steps_changes_no_bit(starts, corrected):
    going = stopping = Learned.fresh(PRIOR)
    for start in starts:
        batch = lessons(start)
        if corrected:
            batch.append(Lesson(experience(starts[0], reward=0.25), experience(starts[0])))
        going = TRAINER.step(going, batch).state
        told = [
            Lesson(
                Experience.loads(one.experience.dumps()),
                one.before and Experience.loads(one.before.dumps()),
            )
            for one in batch
        ]
        stopping = TRAINER.step(Learned.loads(stopping.dumps()), told).state
    assert going.dumps() == stopping.dumps()
    assert Learned.loads(going.dumps()).dumps() == going.dumps()


@pytest.mark.requirement("TR-4", "TR-10")
def test_a_step_leaves_the_state_before_it_alone():
    state = TRAINER.step(Learned.fresh(PRIOR), lessons(0)).state
    written = state.dumps()
    first = TRAINER.step(state, lessons(100))
    assert state.dumps() == written
    assert TRAINER.step(state, lessons(100)).state.dumps() == first.state.dumps()


@pytest.mark.requirement("TR-4")
def test_counts_exploration_and_baseline():
    batch = lessons(0)
    taught = [one.experience for one in batch if one.experience.trainable]
    state = TRAINER.step(Learned.fresh(PRIOR), batch).state
    assert (state.trained, state.taught, state.steps) == (STEP, len(taught), 1)
    assert state.exploration == exploration(len(taught), CONFIG)
    mean = sum(one.reward for one in taught) / len(taught)
    assert state.baseline == pytest.approx(mean)
    again = Lesson(experience(0, reward=0.0), experience(0))
    assert TRAINER.step(state, [again]).state.trained == STEP


@pytest.mark.requirement("TR-4")
def test_exploration_falls_like_one_over_the_root_down_to_its_floor():
    assert exploration(0, CONFIG) == CONFIG.exploration
    assert exploration(3 * CONFIG.exploration_horizon, CONFIG) == CONFIG.exploration / 2
    assert exploration(10**9, CONFIG) == CONFIG.exploration_floor


@pytest.mark.requirement("TR-2", "TR-7")
@pytest.mark.parametrize(("was", "now"), [(True, True), (True, False), (False, True)])
def test_a_correction_applies_the_difference_once(was, now):
    old = experience(7, reward=-0.5, trainable=was)
    new = experience(7, reward=0.9, trainable=now, revision=1)
    fresh = Learned.fresh(PRIOR)
    first = TRAINER.step(fresh, [*lessons(100), Lesson(old)])
    second = TRAINER.step(first.state, [Lesson(new, old)])
    at_once = TRAINER.step(fresh, [*lessons(100), Lesson(new)])
    for point, sums in at_once.state.learner.points.items():
        found = second.state.learner.points[point]
        assert found.gains == pytest.approx(sums.gains, abs=1e-12)
        assert found.fisher == pytest.approx(sums.fisher, abs=1e-12)
        assert found.lessons == sums.lessons
    for memory_id in {*first.values, *second.values}:
        once, again = (step.values.get(memory_id, Worth()) for step in (first, second))
        expected = at_once.values.get(memory_id, Worth())
        assert once.use + again.use == pytest.approx(expected.use, abs=1e-12)
        # The curve has moved since.
        assert once.exposure + again.exposure == pytest.approx(expected.exposure, abs=0.15)
    assert (second.state.positions.counts == at_once.state.positions.counts).all()


@pytest.mark.requirement("TR-3", "TR-4")
def test_silence_teaches_nothing():
    fresh = Learned.fresh(PRIOR)
    silent = [Lesson(experience(seed, trainable=False)) for seed in range(STEP)]
    step = TRAINER.step(fresh, silent)
    assert (step.state.trained, step.state.taught) == (STEP, 0)
    assert step.state.learner.dump() == fresh.learner.dump()
    assert step.values == {}


@pytest.mark.requirement("TR-4")
def test_old_lessons_can_be_forgotten():
    forgetful = Trainer(PRIOR, LearningConfig(forgetting=0.5))
    state = forgetful.step(Learned.fresh(PRIOR), lessons(0)).state
    silent = [Lesson(experience(seed, trainable=False)) for seed in range(STEP)]
    after = forgetful.step(state, silent).state
    assert after.learner.points["route"].gains == pytest.approx(
        state.learner.points["route"].gains / 2
    )


@pytest.mark.requirement("TR-9")
def test_an_operator_promotes_and_rolls_back():
    state = TRAINER.step(Learned.fresh(PRIOR), lessons(0)).state
    step = TRAINER.promote(state, actor="ann", reason="looks good")
    (event,) = step.events
    assert (event.kind, event.version, event.actor, event.reason) == (
        "promoted", 1, "ann", "looks good",
    )  # fmt: skip
    promoted = step.state
    weights = serving_weights(promoted, None, PRIOR, CONFIG)
    assert any(name.startswith("route/rlm/") for name in weights)
    # A champion is what it was when it was promoted, whatever is learned later.
    later = TRAINER.step(promoted, lessons(50)).state
    if later.version == promoted.version:
        assert serving_weights(later, None, PRIOR, CONFIG) == weights

    second = TRAINER.promote(later)
    back = TRAINER.rollback(second.state, actor="bob", reason="complaints")
    assert [event.kind for event in back.events] == ["rolled back", "suspended"]
    assert back.state.version == second.state.version + 1
    assert serving_weights(back.state, None, PRIOR, CONFIG) == weights
    assert back.state.suspended
    # A second one in a row ends at the prior.
    prior = TRAINER.rollback(back.state).state
    assert serving_weights(prior, None, PRIOR, CONFIG) == serving_weights(
        Learned.fresh(PRIOR), None, PRIOR, CONFIG
    )


@pytest.mark.requirement("TR-9")
def test_a_suspension_ends_after_so_many_lessons():
    trainer = Trainer(PRIOR, LearningConfig(suspension=2 * STEP))
    state = trainer.rollback(TRAINER.step(Learned.fresh(PRIOR), lessons(0)).state).state
    assert state.suspended
    step = trainer.step(state, lessons(100))
    assert step.state.suspended
    step = trainer.step(step.state, lessons(200))
    assert not step.state.suspended
    assert [event.kind for event in step.events] == ["resumed"]
    assert trainer.step(step.state, lessons(300)).events == []


@pytest.mark.requirement("TR-4")
def test_numbers_stay_finite_whatever_the_propensities():
    rare = [
        Lesson(dataclasses.replace(experience(seed), chosen=tuple(
            dataclasses.replace(one, propensity=1e-9) for one in experience(seed).chosen
        )))
        for seed in range(200)
    ]  # fmt: skip
    state = Learned.fresh(PRIOR)
    for start in range(0, 200, STEP):
        state = TRAINER.step(state, rare[start : start + STEP]).state
    weights = serving_weights(TRAINER.promote(state).state, None, PRIOR, CONFIG)
    assert all(math.isfinite(weight) for weight in weights.values())
