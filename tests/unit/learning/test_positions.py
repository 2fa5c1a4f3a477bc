"""How likely each place is looked at: the usual curve, moved by what swapping shows."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.config import LearningConfig
from learning.lessons import Experience, Placed
from learning.positions import PLACES, Positions, places_of

CONFIG = LearningConfig()


def shown(used, swapped=None, count=4):
    placed = tuple(
        Placed(f"m{rank}", rank, 0.1 if swapped in (rank, rank - 1) else 1.0, rank in used, ())
        for rank in range(1, count + 1)
    )
    return Experience("t", 0, 0, 0.5, trainable=True, placed=placed)


def readers(looks, lists, seed):
    """Return lists whose first memories are the better ones, one pair swapped now and then."""
    chance = random.Random(seed)
    for _ in range(lists):
        good = [0.6, 0.5, 0.4, 0.3]
        swapped = chance.choice([1, 2, 3]) if chance.random() < 0.3 else None
        if swapped:
            good[swapped - 1], good[swapped] = good[swapped], good[swapped - 1]
        used = {r for r in range(1, 5) if chance.random() < looks(r) * good[r - 1]}
        yield shown(used, swapped), 1.0


@pytest.mark.requirement("TR-7")
def test_with_nothing_known_it_is_one_over_the_root_of_the_rank():
    curve = Positions().curve(CONFIG)
    assert curve[:4] == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])
    assert places_of([Placed("m", 10**6, 1.0, False, ())]).tolist() == [PLACES - 1]
    assert len(curve) == PLACES


@pytest.mark.requirement("TR-7")
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_swapping_shows_how_readers_look_whatever_is_better(power):
    known = Positions().after([*readers(lambda rank: rank**-power, 6000, 3)])
    truth = np.array([rank**-power for rank in range(1, 5)])
    assert known.curve(CONFIG)[:4] == pytest.approx(truth, abs=0.15)
    usual = Positions().curve(CONFIG)[:4]
    if power != 0.5:
        assert np.abs(known.curve(CONFIG)[:4] - truth).max() < np.abs(usual - truth).max() / 2


@pytest.mark.requirement("TR-7")
def test_a_ratio_by_hand():
    config = LearningConfig(position_evidence=10.0)
    lists = [(shown({1}), 1.0)] * 40 + [(shown({2}), 1.0)] * 5 + [(shown(set()), 1.0)] * 5
    lists += [(shown({1}, swapped=1), 1.0)] * 25 + [(shown({2}, swapped=1), 1.0)] * 10
    lists += [(shown(set(), swapped=1), 1.0)] * 15
    # Kept: 0.8 above, 0.1 below; swapped: 0.5 above, 0.2 below; 50 lists of either.
    upper, lower = (0.8 + 0.5) / 2 * 50, (0.1 + 0.2) / 2 * 50
    ratio = (lower + 10 * 2**-0.5) / (upper + 10)
    assert Positions().after(lists).curve(config)[1] == pytest.approx(ratio)


@pytest.mark.requirement("TR-7")
def test_who_uses_everything_alike_looks_everywhere():
    chance = random.Random(1)
    lists = [(shown({r for r in range(1, 5) if chance.random() < 0.4}), 1.0) for _ in range(3000)]
    assert Positions().after(lists).curve(CONFIG)[3] > 0.75


@pytest.mark.requirement("TR-2")
def test_counts_can_be_taken_back():
    lists = [*readers(lambda rank: 1 / rank, 50, 3)]
    known = Positions().after(lists)
    again = known.after([(shown({3}, 2), 1.0)]).after([(shown({3}, 2), -1.0)])
    assert (again.counts == known.counts).all()


@pytest.mark.requirement("TR-7")
@given(st.lists(st.tuples(st.sets(st.integers(1, 4)), st.none() | st.integers(1, 3)), max_size=30))
def test_the_curve_falls_from_one_and_never_to_nothing(lists):
    known = Positions().after([(shown(used, swapped), 1.0) for used, swapped in lists * 5])
    curve = known.curve(CONFIG)
    assert curve[0] == 1
    assert (np.diff(curve) <= 1e-12).all()
    assert curve.min() >= CONFIG.position_floor
