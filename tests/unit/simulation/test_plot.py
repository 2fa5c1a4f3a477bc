"""Learning curves are drawn, with regret where it is told, as the file's ending says."""

from pathlib import Path

import pytest

from memstream.evaluation.dataset import DatasetError
from memstream.simulation.plot import plot, trailing
from memstream.simulation.report import report
from tests.unit.simulation.test_report import ROUNDS


@pytest.mark.requirement("TR-4")
def test_regret_is_drawn_a_round_and_in_all(tmp_path):
    told = report(ROUNDS)
    plot([told, told, told], "made up", tmp_path / "curve.svg")
    drawn = (tmp_path / "curve.svg").read_text()
    for title in ("reward", "recall", "regret a round", "regret in all"):
        assert f"<!-- {title} -->" in drawn
    without = [
        {name: value for name, value in point.items() if "regret" not in name}
        for point in told["curve"]
    ]
    plot([{"curve": without}], "made up", tmp_path / "plain.svg")
    assert "regret" not in (tmp_path / "plain.svg").read_text()
    plot([told], "made up", tmp_path / "curve.PNG")
    assert (tmp_path / "curve.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_point_is_the_mean_of_the_last_few():
    assert trailing([1.0, 3.0, 5.0, 7.0], 2) == [1.0, 2.0, 4.0, 6.0]
    assert trailing([0.5], 5) == [0.5]
    assert trailing([]) == []


def test_another_ending_is_refused():
    with pytest.raises(DatasetError, match=r"\.png or \.svg"):
        plot([report(ROUNDS)], "made up", Path("curve.gif"))
