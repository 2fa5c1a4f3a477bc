"""What is learned of choices: scores, importance weights, and the step they add up to."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.advantages import Advantages, surprises
from learning.config import LearningConfig
from learning.lessons import Chosen, Experience, Lesson
from learning.logged import Logged, logged
from models.choices import Choice, probabilities

CONFIG = LearningConfig()


def score(rows):
    """Return the scores of choices, an option's features side by side, and their weights."""
    surprise, rho = surprises(rows, CONFIG)
    return (surprise[:, :, None] * rows.x[:, None, :]).reshape(len(rows), -1), rho


NUMBERS = st.floats(-3, 3).map(lambda number: round(number, 3))


def experience(option, reward=0.5, *, options=None, features=None, propensity=0.5, **other):
    choice = Choice(
        point="route",
        option=option,
        options=options or {"standard": 0.0, "rlm": 0.0},
        features=features or {"always": 1.0},
        exploration=other.pop("exploration", 0.2),
    )
    fields = {"revision": 0, "policy_version": 0, "trainable": True, **other}
    return Experience("t", reward=reward, chosen=(Chosen(choice, propensity),), **fields)


def seen(*lessons: Lesson | Experience, config=CONFIG) -> Logged:
    told = [one if isinstance(one, Lesson) else Lesson(one) for one in lessons]
    return logged(told, config)["route"]


@pytest.mark.requirement("TJ-3", "TR-4")
@given(
    st.dictionaries(st.sampled_from("abcd"), NUMBERS, min_size=2),
    st.dictionaries(st.sampled_from("xyz"), NUMBERS, min_size=1),
    st.dictionaries(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), NUMBERS, max_size=12
    ),
    st.floats(0, 1),
)
def test_who_learns_means_the_same_by_a_weight_as_who_draws(options, features, weights, rate):
    option = next(iter(options))
    rows = seen(experience(option, options=options, features=features))
    table = np.array([[weights.get((o, f), 0.0) for f in rows.features] for o in rows.options])
    named = {f"route/{o}/{f}": weight for (o, f), weight in weights.items()}
    drawn = probabilities("route", options, features, named, rate)
    moved = {
        o: sum(named.get(f"route/{o}/{f}", 0.0) * x for f, x in features.items()) for o in options
    }
    if any(moved.values()) and max(map(abs, moved.values())) < 1e-9:
        return  # Rounding alone decides whether anything was learned.
    found = dict(zip(rows.options, rows.chances(table, rate)[0].tolist(), strict=True))
    assert found == pytest.approx(drawn)


@pytest.mark.requirement("TR-4")
def test_the_score_is_the_derivative_of_the_log_probability():
    options, features = {"a": 0.3, "b": -0.2, "c": 0.0}, {"x": 0.7, "y": -1.3}
    rows = seen(experience("b", options=options, features=features, propensity=1 / 3))
    # Drawn blindly, what is expected is what the policy of no weights expects.
    psi, rho = score(rows)
    assert rho == pytest.approx([1.0])

    def log_probability(flat):
        logits = flat.reshape(3, 2) @ rows.x[0]
        return logits[1] - math.log(np.exp(logits).sum())

    small = 1e-6
    numeric = [
        (log_probability(small * unit) - log_probability(-small * unit)) / (2 * small)
        for unit in np.eye(6)
    ]
    assert psi[0] == pytest.approx(numeric, abs=1e-8)


@pytest.mark.requirement("TR-4")
@pytest.mark.parametrize("rate", [0.05, 0.3, 1.0])
def test_the_mean_score_is_nothing_even_when_weights_are_clipped(rate):
    options = {"a": 0.0, "b": 2.0, "c": 1.0}
    chances = {o: rate / 3 + (1 - rate) * (o == "b") for o in options}
    rows = seen(*(
        experience(o, options=options, features={"x": 1.5}, propensity=p, exploration=rate)
        for o, p in chances.items()
    ))  # fmt: skip
    psi, rho = score(rows)
    behaviour = np.array([chances[rows.options[place]] for place in rows.chosen])
    assert (behaviour * rho) @ psi == pytest.approx(np.zeros(3), abs=1e-12)
    assert rho.max() <= CONFIG.importance_limit


@pytest.mark.requirement("TR-4")
def test_the_step_goes_up_the_plain_policy_gradient():
    chance = random.Random(5)
    lessons = []
    for _ in range(2000):
        x = {"always": 1.0, "score": chance.random()}
        option = chance.choice(["standard", "rlm"])
        reward = 0.3 + (option == "rlm") * (x["score"] - 0.4) + chance.gauss(0, 0.1)
        lessons.append(experience(option, reward, features=x, exploration=1.0))
    rows = seen(*lessons)
    known = Advantages().after(rows, CONFIG)
    baseline = float(np.mean(rows.gain))
    psi, rho = score(rows)
    gradient = psi.T @ (rho * (rows.gain - baseline))
    assert known.gains - baseline * known.scores == pytest.approx(gradient)
    step = known.advantage(baseline, CONFIG)
    assert step.ravel() @ gradient > 0
    few = LearningConfig(ridge=1e-6)
    always, slope = known.advantage(baseline, few)[0] - known.advantage(baseline, few)[1]
    assert (always, slope) == pytest.approx((-0.4, 1.0), abs=0.1)


@pytest.mark.requirement("TR-4")
def test_weights_are_clamped():
    known = Advantages().after(seen(*[experience("rlm", 1.0)] * 500), CONFIG)
    assert np.abs(known.weights(-1.0, CONFIG)).max() == pytest.approx(CONFIG.weight_limit)


@pytest.mark.requirement("TR-4")
def test_it_does_not_matter_in_which_unit_a_feature_is():
    told = [
        [
            experience("rlm" if n % 3 else "standard", n % 4 / 4, features={"x": unit * (n % 5)})
            for n in range(60)
        ]
        for unit in (1.0, 0.1)
    ]
    one, tenth = (Advantages().after(seen(*each), CONFIG).weights(0.3, CONFIG) for each in told)
    assert tenth == pytest.approx(10 * one)


@pytest.mark.requirement("TR-4")
def test_a_weight_belongs_to_an_option_and_a_feature_whatever_their_order():
    one = experience("b", 0.9, options={"a": 0.0, "b": 1.0}, features={"x": 1.0, "y": 0.5})
    two = experience("b", 0.9, options={"b": 1.0, "a": 0.0}, features={"y": 0.5, "x": 1.0})
    first, second = (Advantages().after(seen(each), CONFIG) for each in (one, two))
    assert first.dump() == second.dump()


@pytest.mark.requirement("TR-4")
@settings(max_examples=50)
@given(st.permutations(range(4)))
def test_what_came_first_makes_room_for_what_comes_later(order):
    contexts = [
        ({"a": 0.0, "b": 0.0}, {"x": 1.0}),
        ({"b": 0.0, "c": 0.0}, {"y": 2.0}),
        ({"a": 0.0, "c": 0.0, "d": 0.0}, {"x": 0.5, "y": 1.0}),
        ({"a": 0.0, "b": 0.0}, {"w": 1.0}),
    ]
    told = [
        experience(next(iter(options)), 0.1 * n, options=options, features=features)
        for n, (options, features) in enumerate(contexts)
    ]
    known = Advantages()
    for place in order:
        known = known.after(seen(told[place]), CONFIG)
    whole = Advantages().after(seen(*told), CONFIG)
    assert (known.options, known.features) == (whole.options, whole.features)
    assert known.fisher == pytest.approx(whole.fisher)
    assert known.gains == pytest.approx(whole.gains)


@pytest.mark.requirement("TR-2")
@given(st.floats(-1, 1), st.floats(-1, 1), st.booleans(), st.booleans())
def test_a_correction_leaves_what_the_corrected_would_have(old, new, was, now):
    others = [experience("standard", 0.2), experience("rlm", 0.6, propensity=0.1)]
    before = experience("rlm", old, propensity=0.1, trainable=was)
    after = experience("rlm", new, propensity=0.1, trainable=now)
    known = Advantages().after(seen(*others, before), CONFIG)
    found = logged([Lesson(after, before)], CONFIG).get("route")
    corrected = known.after(found, CONFIG) if found is not None else known
    at_once = Advantages().after(seen(*others, after), CONFIG)
    assert corrected.gains == pytest.approx(at_once.gains, abs=1e-12)
    assert corrected.scores == pytest.approx(at_once.scores, abs=1e-12)
    assert corrected.fisher == pytest.approx(at_once.fisher, abs=1e-12)
    assert corrected.lessons == at_once.lessons
    if was and now:
        assert (corrected.fisher == known.fisher).all()


@pytest.mark.requirement("TR-4")
def test_a_choice_without_an_alternative_teaches_nothing():
    assert not logged([Lesson(experience("a", options={"a": 0.0}, propensity=1.0))], CONFIG)


@pytest.mark.requirement("TR-4")
def test_a_return_is_discounted_for_what_was_chosen_earlier():
    config = LearningConfig(discount=0.5)
    one = experience("rlm", 0.8)
    whole = Experience("t", 0, 0, 0.8, trainable=True, chosen=one.chosen * 3)
    assert seen(whole, config=config).gain.tolist() == [0.2, 0.4, 0.8]
    assert Advantages().after(seen(whole), CONFIG).lessons == 1
