"""Whether signals tell memories apart: what is used must be what seems better, place by place."""

import itertools
import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.config import LearningConfig
from learning.lessons import Experience, Placed
from learning.running import Running
from learning.sense import SENSE, sensed
from learning.trainer import exploration
from tests.unit.learning.readers import Readers

CONFIG = LearningConfig()
PRIOR = {"x": 1.0}
PLANTED = {"a": 2.0, "b": 1.0, "c": -1.0}


def shown(values, used, names=("x",)):
    """Return a list with these values from top to bottom, of which some were used."""
    placed = tuple(
        Placed(f"m{rank}", rank, 1.0, bool(use), (value,))
        for rank, (value, use) in enumerate(zip(values, used, strict=True), 1)
    )
    return Experience("t", 0, 0, 1.0, trainable=True, names=names, placed=placed)


@pytest.mark.requirement("TR-9")
def test_by_hand():
    # A use is the first of either list with these chances: 3 of 4, and 1 of 4.
    three = math.log(3)
    lists = [shown([three, 0.0], [1, 0]), shown([0.0, three], [0, 1])]
    # At each place one is 1/4 above and one 1/4 below the mean chance, uses 1/2 likewise.
    assert sensed(lists, PRIOR) == pytest.approx([0.25, 0.25])
    assert sensed(lists, {"x": -1.0}) == pytest.approx([-0.25, -0.25])
    # The same of either is used, or none can be told apart: nothing is said.
    assert sensed([shown([3.0, 1.0], [1, 0]), shown([0.0, 5.0], [1, 0])], PRIOR) == [0.0, 0.0]
    assert sensed([shown([2.0, 2.0], [1, 0]), shown([2.0, 2.0], [0, 1])], PRIOR) == [0.0, 0.0]
    assert sensed([], PRIOR) == []
    assert sensed([shown([3.0, 1.0], [1, 0], names=("y",))], PRIOR) == []


@pytest.mark.requirement("TR-9")
@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(-5, 5), min_size=3, max_size=3),
            st.lists(st.booleans(), min_size=3, max_size=3),
        ),
        min_size=2,
        max_size=4,
    )
)
def test_where_use_is_blind_the_mean_is_nothing_whatever_places_are_used(lists):
    """Blind uses might as well have been those of another list: over all such orders it is 0."""
    total = sum(
        sum(sensed([shown(lists[n][0], lists[m][1]) for n, m in enumerate(order)], PRIOR))
        for order in itertools.permutations(range(len(lists)))
    )
    assert total == pytest.approx(0, abs=1e-9)


def trial(planted, looks, seed, lessons):
    readers = Readers(planted, PLANTED, looks, seed, replace(CONFIG, gate_lessons=10**9))
    return readers.run(lessons).trials.get(SENSE, Running())


def likes(rank):
    return rank**-0.5


@pytest.mark.requirement("TR-9")
def test_readers_who_use_what_is_good_are_known_by_it_and_blind_ones_are_not():
    sensible = [trial(PLANTED, likes, seed, 300).bounds(CONFIG.sense_z)[0] for seed in range(6)]
    assert statistics.mean(bound > 0 for bound in sensible) > 0.8
    blind = dict.fromkeys(PLANTED, 0.0)
    for looks in (likes, lambda rank: float(rank == 1), lambda _: 0.5):
        lows = [trial(blind, looks, seed, 300).bounds(CONFIG.sense_z)[0] for seed in range(6)]
        assert max(lows) <= 0
    contrary = {name: -weight for name, weight in PLANTED.items()}
    assert trial(contrary, likes, 1, 300).bounds(CONFIG.sense_z)[0] < 0


@pytest.mark.requirement("TR-9", "TR-4")
def test_what_signals_cannot_tell_is_hardly_tried():
    blind = Readers(dict.fromkeys(PLANTED, 0.0), PLANTED, likes, 1, CONFIG)
    assert blind.run(180).exploration == exploration(180, CONFIG) > CONFIG.exploration_floor
    assert blind.run(40).exploration == CONFIG.exploration_floor
    sensible = Readers(PLANTED, PLANTED, likes, 1, CONFIG).run(400)
    assert sensible.exploration == exploration(sensible.taught, CONFIG) > CONFIG.exploration_floor
