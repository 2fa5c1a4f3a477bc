"""The gate: judged on what neither has learned from, without hope counting as evidence."""

from dataclasses import replace

import numpy as np
import pytest

from learning.advantages import Advantages
from learning.config import LearningConfig
from learning.evidence import RANKER, Evidence
from learning.gate import chosen_better, ranked_better
from learning.lessons import Chosen, Experience, Lesson, Placed
from learning.listwise import Ranker
from learning.logged import logged
from learning.positions import Positions
from learning.prior import WITHIN
from learning.promotion import judged, promoted, replaced
from learning.running import Running
from learning.sense import SENSE
from learning.state import Learned
from models.choices import Choice

CONFIG = LearningConfig(temperature=0.1, temperature_horizon=10**15, ridge=1.0)
OPTIONS = {"a": 0.0, "b": -1.0}


def experience(option, reward, propensity, exploration=0.2):
    choice = Choice(
        point="pool",
        option=option,
        options=OPTIONS,
        features={"always": 1.0},
        exploration=exploration,
    )
    chosen = (Chosen(choice, propensity),)
    return Experience("t", 0, 0, reward, trainable=True, chosen=chosen)


def known(advantage: float) -> Advantages:
    """Return the sums from which so much advantage of b follows, half of it a disadvantage of a."""
    gains = np.array([-advantage / 2, advantage / 2]) * (1 + CONFIG.ridge)
    return Advantages(("a", "b"), ("always",), 9.0, np.eye(2), gains, np.zeros(2), np.ones(2))


def rows(*experiences):
    return logged([Lesson(one) for one in experiences], CONFIG)["pool"]


@pytest.mark.requirement("TR-9")
def test_the_doubly_robust_difference_by_hand():
    seen = rows(experience("b", 0.9, 0.1), experience("a", 0.2, 0.9))
    baseline, advantage = 0.4, 0.3
    better = chosen_better(known(advantage), Advantages(), seen, baseline, CONFIG)
    # The champion takes a. The challenger's logits are −1.5 for a, and −1 + 1.5 for b.
    b = 1 / (1 + np.exp(-2.0))
    model = {"a": -0.15, "b": 0.15}
    direct = (1 - b - 1) * model["a"] + b * model["b"]
    expected = [
        direct + (b / 0.1) * (0.9 - baseline - model["b"]),
        direct + ((1 - b) / 0.9 - 1 / 0.9) * (0.2 - baseline - model["a"]),
    ]
    assert better == pytest.approx(expected)


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("limit", [2.0, 20.0])
@pytest.mark.parametrize("hope", [0.05, 0.5])
def test_when_nothing_matters_the_mean_difference_is_nothing_however_high_the_hopes(limit, hope):
    config = LearningConfig(temperature=0.1, ridge=1.0, gate_limit=limit)
    seen = rows(experience("a", 0.4, 0.9), experience("b", 0.4, 0.1))
    better = chosen_better(known(hope), Advantages(), seen, 0.4, config)
    assert 0.9 * better[0] + 0.1 * better[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.requirement("TR-9")
def test_the_mean_difference_is_the_true_one_whatever_the_model():
    seen = rows(experience("a", 0.2, 0.9), experience("b", 0.7, 0.1))
    b = 1 / (1 + np.exp(-(-1 + 0.3 / 0.1)))
    better = chosen_better(known(0.3), Advantages(), seen, 0.25, CONFIG)
    assert 0.9 * better[0] + 0.1 * better[1] == pytest.approx(b * (0.7 - 0.2))


@pytest.mark.requirement("TR-9")
def test_several_choices_of_a_search_are_one_lesson():
    one = experience("b", 0.9, 0.1)
    twice = Experience("t", 0, 0, 0.9, trainable=True, chosen=one.chosen * 2)
    single = chosen_better(known(0.3), Advantages(), rows(one), 0.4, CONFIG)
    assert chosen_better(known(0.3), Advantages(), rows(twice), 0.4, CONFIG) == pytest.approx(
        [2 * single[0]]
    )


def trial(mean, lower, z=CONFIG.gate_z):
    """Return a trial of many lessons with so much between its mean and its bound."""
    spread = (mean - lower) / z * 100
    return Running().with_all([mean + spread * (-1) ** n for n in range(10**4)])


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize(
    ("mean", "lower", "won"),
    [
        (0.02, 0.01, ["route"]),
        (0.01, -0.02, ["route"]),
        (0.01, -0.04, []),
        (-0.001, -0.01, []),
    ],
)
def test_routes_that_seem_better_may_be_a_little_worse_but_no_ranker_may(mean, lower, won):
    nothing = Learned.fresh({"x": 1.0})
    taught = Evidence({"route": known(0.1)}, Ranker(("x",), 9.0, 9.0, np.eye(1), np.ones(1)))
    one = trial(mean, lower, CONFIG.route_z)
    trials = {"route": one, RANKER: one, WITHIN: one, SENSE: trial(0.2, 0.1)}
    state = replace(nothing, learner=taught, trials=trials)
    after, events = judged(nothing, state, {"x": 1.0}, CONFIG)
    assert [event.part for event in events if event.kind == "promoted"] == won
    assert [*after.champion.parts] == won
    assert [event.part for event in events if event.kind == "held"] == [
        part for part in (RANKER, "route") if part not in won
    ]


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("point", ["recipe", "keywords", "pool", "move"])
@pytest.mark.parametrize(("lower", "won"), [(-0.001, False), (0.001, True)])
def test_other_choices_must_surely_be_better_whatever_signals_tell(point, lower, won):
    nothing = Learned.fresh({"x": 1.0})
    taught = Evidence({point: known(0.1)}, Ranker.fresh({"x": 1.0}))
    trials = {point: trial(0.02, lower), SENSE: trial(0.2, 0.1)}
    after, _ = judged(nothing, replace(nothing, learner=taught, trials=trials), {"x": 1.0}, CONFIG)
    assert [*after.champion.parts] == [point] * won


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize(
    ("point", "mean", "lessons", "anew"),
    [
        ("route", -0.01, 200, True),
        ("route", -0.01, 180, False),
        ("route", 0.01, 200, False),
        ("recipe", -0.01, 200, False),
        # The learner that was tried first knew more than half of what it knows now.
        ("route", -0.01, 300, False),
    ],
)
def test_a_trial_of_routes_that_began_badly_begins_anew_once_twice_as_much_is_known(
    point, mean, lessons, anew
):
    nothing = Learned.fresh({"x": 1.0})
    learned = replace(known(0.1), lessons=400.0 if lessons == 200 else 1000.0)
    one = Running().with_all([mean + 5 * (-1) ** n for n in range(lessons)])
    trials = {point: one, SENSE: trial(0.2, 0.1)}
    taught = Evidence({point: learned}, Ranker.fresh({"x": 1.0}))
    after, events = judged(
        nothing, replace(nothing, learner=taught, trials=trials), {"x": 1.0}, CONFIG
    )
    assert {event.kind for event in events} == {"held"}
    assert ({*trials} - {*after.trials} == {point}) == anew
    assert SENSE in after.trials


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("sense", [{}, {SENSE: trial(0.1, -0.1)}])
@pytest.mark.parametrize(
    ("mean", "lower", "won"), [(0.01, -0.001, []), (0.02, 0.0065, []), (0.02, 0.0067, ["route"])]
)
def test_while_signals_tell_nothing_choices_must_surely_be_better(sense, mean, lower, won):
    nothing = Learned.fresh({"x": 1.0})
    taught = Evidence({"route": known(0.1)}, Ranker.fresh({"x": 1.0}))
    state = replace(nothing, learner=taught, trials={"route": trial(mean, lower), **sense})
    after, _ = judged(nothing, state, {"x": 1.0}, CONFIG)
    assert [*after.champion.parts] == won
    # What signals are worth does not depend on what serves; a rollback is a reason to look anew.
    assert {SENSE} & {*after.trials} == {*sense}
    assert SENSE not in replaced(state, {"x": 1.0}, CONFIG).trials


@pytest.mark.requirement("TR-9")
def test_what_was_tried_against_another_ranker_is_tried_again():
    nothing = Learned.fresh({"x": 1.0})
    ranker = Ranker(("x",), 9.0, 9.0, np.eye(1), np.ones(1))
    taught = Evidence({"route": known(0.1), "recipe": known(0.1)}, ranker)
    trials = dict.fromkeys(("route", "recipe", "pool", RANKER, WITHIN, SENSE), trial(0.2, 0.1))
    state = replace(nothing, learner=taught, trials=trials)
    assert {*promoted(state, [RANKER], CONFIG).trials} == {"route", SENSE}
    assert {*promoted(state, ["recipe"], CONFIG).trials} == {*trials} - {"recipe"}


@pytest.mark.requirement("TR-9")
def test_a_ranking_is_better_by_what_more_would_look_at():
    prior = {"x": 1.0}
    positions = Positions()
    curve, rates = positions.curve(CONFIG), positions.rates(CONFIG)
    placed = tuple(
        Placed(f"m{rank}", rank, 1.0, rank == 3, (value,))
        for rank, value in enumerate([0.9, 0.5, 0.1], 1)
    )
    shown = Experience("t", 0, 0, 1.0, trainable=True, names=("x",), placed=placed)
    unused = Experience("t", 0, 0, 1.0, trainable=True, names=("x",), placed=placed[:2])
    upside_down = Ranker(("x",), 5.0, 5.0, np.array([[99.0]]), np.array([-201.0]))
    better = ranked_better(
        upside_down, Ranker.fresh(prior), [shown, unused], curve, rates, prior, CONFIG
    )
    assert better[0] == pytest.approx([1 / curve[2] - 1])
    moved = [curve[2] - 1, 0, 1 / curve[2] - 1]
    assert better[1] == pytest.approx([moved[2] - 0.1 * sum(moved)])
    same = ranked_better(
        Ranker.fresh(prior), Ranker.fresh(prior), [shown], curve, rates, prior, CONFIG
    )
    assert same == ([0.0], [0.0])
