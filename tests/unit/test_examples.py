"""The examples of the documents run, and say what the documents show."""

import io
import random
import re
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from memstream.export.files import Output
from models import Outcome
from tests.integration.storage.school import searches

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "evaluate_policy.py"


def told(folder, log):
    """Return what the example says of a log."""
    with Output(folder / "t.parquet", "parquet") as output:
        for one in log:
            output.write(one, 100)
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setattr(sys, "argv", [str(EXAMPLE), str(folder / "t.parquet")])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return [line.rstrip() for line in out.getvalue().strip().splitlines()]


def invented():
    """2,000 searches: the likelier rlm is, the more it earns, so plain means flatter it."""
    chance = random.Random(7)
    (pattern,) = searches(1)
    for number in range(2000):
        score = chance.random()
        likely = 0.1 + 0.8 * score
        taken = chance.random() < likely
        reward = 0.3 + 0.5 * taken * score + chance.uniform(-0.1, 0.1)
        choice = {
            "point": "route",
            "option": "rlm" if taken else "standard",
            "options": {"rlm": 0.0, "standard": 0.0},
            "features": {"score": score},
            "exploration": 0.2,
        }
        params = {"params": {"choice": choice}, "propensity": likely if taken else 1 - likely}
        changes = {
            "trajectory_id": f"t{number}",
            "policy_version": 1 + number // 1000,
            "actions": (pattern.actions[0].model_copy(update=params),),
            "reward": reward,
        }
        if number % 5 == 0:
            silent = Outcome(type="no_signal")
            changes |= {"outcome": silent, "used": (), "reward": 0.3, "trainable": False}
        elif number % 3 == 0:
            changes |= {"outcome": Outcome(type="query_refined", new_query="again")}
        yield pattern.model_copy(update=changes)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    return told(tmp_path_factory.mktemp("example"), invented())


@pytest.mark.requirement("TJ-3", "TR-9")
def test_a_policy_is_evaluated_from_an_export(evaluated):
    said = "\n".join(evaluated)
    # What is earned on either route is known, because it was made up.
    for route, truth in (("rlm", 0.3 + 0.5 / 2), ("standard", 0.3)):
        line = re.search(rf"  {route}: (\S+) \((\S+) … (\S+)\); .+: (\S+) \((\S+) … (\S+)\)", said)
        value, lower, upper, own, own_lower, own_upper = map(float, line.groups())
        assert lower < truth < upper
        assert own_lower < truth < own_upper
        assert upper - lower < 0.06
        assert value == own
    plain = re.search(r"│ rlm +│ +\d+ │ +(\S+) │", said)
    assert float(plain[1]) > 0.3 + 0.5 / 2 + 0.05


def test_the_document_shows_what_it_says(evaluated):
    text = (DOCS / "analytics.md").read_text()
    shown = re.search(r"<!-- evaluate_policy -->\n+```text\n(.+?)```", text, re.DOTALL)
    assert shown[1].strip().splitlines() == evaluated


def test_a_route_that_was_never_taken_is_not_made_up(tmp_path):
    log = [one for one in searches(50) if one.actions[0].params["choice"]["option"] == "rlm"]
    assert "  standard: never taken, so nothing is known of it" in told(tmp_path, log)
