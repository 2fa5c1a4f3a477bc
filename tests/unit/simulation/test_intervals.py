"""Intervals of differences are as wide as the number of questions allows, not that of rounds."""

import math
import random

import pytest
from scipy import stats

from memstream.simulation.intervals import paired, student


def test_an_interval_is_of_the_differences_in_the_same_rounds():
    found = paired([1.0, 0.0, 1.0, 0.0], [0.9, -0.1, 0.9, -0.1], "abcd")
    assert (found["mean"], found["lower"], found["upper"]) == (0.1, 0.1, 0.1)


def test_by_hand():
    # Three questions of 2, 1 and 1 rounds; the sums of what is above the mean of 0.5 are 1, -0.5
    # and -0.5, and 4.303 is Student's t of two degrees of freedom.
    found = paired([1.0, 1.0, 0.0, 0.0], [0.0] * 4, ["a", "a", "b", "c"])
    half = 4.303 * math.sqrt(1.5 * 3 / 2) / 4
    assert found["lower"] == pytest.approx(0.5 - half, abs=1e-4)
    assert found["upper"] == pytest.approx(0.5 + half, abs=1e-4)


def test_asking_the_same_again_tells_nothing_new():
    ours, questions = [0.3, -0.1, 0.2, 0.0, 0.5], "abcde"
    once = paired(ours, [0.0] * 5, questions)
    again = paired(ours * 20, [0.0] * 100, questions * 20)
    assert once == again


def test_of_one_question_nothing_is_known():
    assert paired([1.0, 0.0], [0.0, 0.0], "aa") == {"mean": 0.5, "lower": None, "upper": None}


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 99])
def test_students_t(freedom):
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.02)


def test_95_of_100_intervals_hold_the_truth_though_questions_come_again():
    """A question's own advantage varies as much as its rounds do, as on the dev sets."""
    chance = random.Random(1)
    held = 0
    for _ in range(400):
        own = [chance.gauss(0.05, 0.2) for _ in range(100)]
        questions = [chance.randrange(100) for _ in range(750)]
        ours = [own[one] + chance.gauss(0, 0.2) for one in questions]
        found = paired(ours, [0.0] * 750, questions)
        held += found["lower"] <= 0.05 <= found["upper"]
    # Taken for independent, the 750 rounds give intervals that hold in two of three cases.
    assert 0.92 <= held / 400 <= 0.98
