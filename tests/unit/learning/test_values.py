"""What tells the worth of memories: use against exposure, debiased by position."""

import pytest

from learning.config import LearningConfig
from learning.lessons import Experience, Lesson, Placed
from learning.positions import Positions
from learning.values import tally
from storage.worth import Worth

CONFIG = LearningConfig()
CURVE = Positions().curve(CONFIG)


def experience(*used: bool, trainable: bool = True, question: str = "") -> Experience:
    placed = tuple(Placed(f"m{n}", n, 1.0, one, ()) for n, one in enumerate(used, 1))
    return Experience("t", 0, 0, 0.5, trainable=trainable, placed=placed, question=question)


@pytest.mark.requirement("TR-7")
def test_exposure_counts_as_much_as_a_place_is_looked_at():
    found = tally([Lesson(experience(False, True)), Lesson(experience(True))], CURVE)
    assert found == {"m1": Worth(2.0, 1.0), "m2": Worth(pytest.approx(2**-0.5), 1.0)}
    assert tally([Lesson(experience(True, trainable=False))], CURVE) == {}


@pytest.mark.requirement("TR-2", "TR-7")
def test_a_correction_changes_the_difference_only():
    before, after = experience(True, False), experience(False, True)
    assert tally([Lesson(after, before)], CURVE) == {
        "m1": Worth(0.0, -1.0),
        "m2": Worth(0.0, 1.0),
    }
    silent = experience(True, False, trainable=False)
    assert tally([Lesson(silent, before)], CURVE)["m1"] == Worth(-1.0, -1.0)


@pytest.mark.requirement("TR-7")
def test_what_is_known_is_known_for_each_question():
    found = tally(
        [
            Lesson(experience(True, False, question="cat eat")),
            Lesson(experience(True, True, question="dog eat")),
            Lesson(experience(False, question="cat eat")),
            Lesson(experience(True, question="bird"), experience(False, question="bird")),
            Lesson(experience(True, trainable=False, question="nobody looked")),
        ],
        CURVE,
    )
    assert found["m1"].questions == {"dog eat": (1.0, 1.0), "cat eat": (2.0, 1.0), "bird": (0, 1)}
    assert [*found["m1"].questions] == ["dog eat", "cat eat", "bird"]
    assert found["m2"].questions == {
        "cat eat": (pytest.approx(2**-0.5), 0.0),
        "dog eat": (pytest.approx(2**-0.5), 1.0),
    }
