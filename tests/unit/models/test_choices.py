"""Choices: probabilities from weights, the same for whoever draws and whoever learns."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.choices import draw, probabilities

OPTIONS = st.dictionaries(st.sampled_from("abcde"), st.floats(-30, 30), min_size=1)
FEATURES = {"always": 1.0, "score": 0.5}


@pytest.mark.requirement("RT-8", "TR-4")
def test_with_nothing_learned_the_first_of_the_best_is_certain():
    assert probabilities("route", {"a": 1.0, "b": 2.0, "c": 2.0}, FEATURES, {}, 0.0) == {
        "a": 0.0,
        "b": 1.0,
        "c": 0.0,
    }


@pytest.mark.requirement("TR-4")
def test_weights_move_the_odds_and_exploration_is_a_floor():
    weights = {"route/b/always": math.log(3) - 0.5, "route/b/score": 1.0, "pool/a/always": 9.0}
    chances = probabilities("route", {"a": 0.0, "b": 0.0}, FEATURES, weights, 0.0)
    assert chances == pytest.approx({"a": 0.25, "b": 0.75})
    chances = probabilities("route", {"a": 0.0, "b": 0.0}, FEATURES, weights, 0.2)
    assert chances == pytest.approx({"a": 0.1 + 0.8 * 0.25, "b": 0.1 + 0.8 * 0.75})


@pytest.mark.requirement("TJ-3")
@given(OPTIONS, st.floats(-30, 30), st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_what_is_drawn_has_a_probability(options, weight, exploration, at):
    first = next(iter(options))
    weights = {f"move/{first}/always": weight}
    chances = probabilities("move", options, FEATURES, weights, exploration)
    assert list(chances) == list(options)
    assert sum(chances.values()) == pytest.approx(1)
    assert chances[draw(chances, at)] > 0


@pytest.mark.requirement("TJ-3")
def test_draws_share_out_the_unit_interval():
    chances = {"a": 0.25, "b": 0.5, "c": 0.25, "d": 0.0}
    drawn = [draw(chances, place / 100) for place in range(100)]
    assert [drawn.count(name) for name in chances] == [25, 50, 25, 0]
    assert draw(chances, 1.0) == "c"
