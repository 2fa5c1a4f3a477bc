"""The table of metrics in docs/observability.md is that of the code; no page names another one."""

import re
from pathlib import Path

import pytest

from tests.documents import code_in, pages
from tests.unit.exported import EXPORTED, METRICS, page_name

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text()
ROWS = {
    row[0]: set(re.findall(r"`(\w+)`", row[2]))
    for row in re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", PAGE, re.MULTILINE)
}
KINDS = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE, re.MULTILINE))


@pytest.mark.requirement("OB-1", "OB-2", "OB-3", "OB-4")
def test_every_metric_is_described_with_its_kind_and_labels():
    exported = {page_name(metric): metric for metric in METRICS}
    assert ROWS.keys() == exported.keys()
    assert {name: set(metric._labelnames) for name, metric in exported.items()} == ROWS
    assert {name: type(metric).__name__.lower() for name, metric in exported.items()} == KINDS


@pytest.mark.requirement("OB-1", "OB-2", "OB-3")
def test_the_names_that_others_rely_on_are_there():
    assert (
        KINDS.items()
        >= {
            "memory_rlm_routing_decision_total": "counter",
            "memory_rlm_complexity_score": "histogram",
            "memory_rlm_execution_duration_ms": "histogram",
            "memory_rlm_execution_depth": "histogram",
            "memory_rlm_execution_tokens": "histogram",
            "memory_rlm_training_reward": "histogram",
            "memory_rlm_training_exploration_rate": "gauge",
        }.items()
    )


ELSEWHERE = {"memstream_client", "memstream_app"}
"""A package and a role of PostgreSQL, which are called alike."""
MIGRATIONS = (Path(__file__).parents[2] / "storage").glob("*/migrations/*.sql")
VIEWS = {view for one in MIGRATIONS for view in re.findall(r"VIEW (\w+)", one.read_text())}
NAMES = {page_name(metric) for metric in METRICS} | EXPORTED.keys()


def named_in(text):
    """Return what looks like a metric of ours in a page's code."""
    found = {name for line in code_in(text) for name in re.findall(r"\w+", line)}
    return {name for name in found if re.match(r"(memstream|memory_rlm|faust)_\w", name)}


@pytest.mark.requirement("OB-1", "OB-2", "OB-3", "OB-4")
@pytest.mark.parametrize("name", pages())
def test_metrics_that_are_named_exist(name):
    assert named_in(pages()[name]) - NAMES - VIEWS - ELSEWHERE == set()


def test_metrics_that_do_not_exist_are_noticed():
    written = "`memstream_wishes_total` and `rate(memstream_retries_total[5m])`, not memstream_this"
    assert named_in(written) - NAMES == {"memstream_wishes_total"}
    for page in ("docs/edges.md", "docs/alerts.md", "docs/observability.md"):
        assert named_in(pages()[page])
