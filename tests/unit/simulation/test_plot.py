"""Learning curves are drawn, with regret where it is told, as the file's ending says."""

from pathlib import Path

import pytest

from memstream.evaluation.dataset import DatasetError
from memstream.simulation.plot import plot
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


def test_another_ending_is_refused():
    with pytest.raises(DatasetError, match=r"\.png or \.svg"):
        plot([report(ROUNDS)], "made up", Path("curve.gif"))
