"""The alert rules: what they watch is counted, they fire when they should, and say what to do."""

import re
from pathlib import Path

import pytest
import yaml

from tests.unit.exported import check, run_promtool

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
BY_NAME = {rule["alert"]: rule for rule in RULES}
TRIED_OUT = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]


def test_prometheus_reads_the_rules():
    configuration = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert all((FOLDER / name).exists() for name in configuration["rule_files"])


@pytest.mark.requirement("RR-4", "RR-8", "OB-5")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_rule_watches_something_that_is_counted_and_says_what_to_do(rule):
    check(rule["expr"])
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    page, _, section = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert section == rule["alert"].lower()
    assert rule["alert"] in headings


def test_what_to_do_is_only_said_of_alerts_that_there_are():
    headings = re.findall(r"^## (.+)$", (ROOT / "docs/alerts.md").read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(BY_NAME)


@pytest.mark.requirement("RR-4")
def test_slow_reasoning_is_told_from_two_seconds_on():
    assert "0.95" in BY_NAME["ReasoningIsSlow"]["expr"]
    assert BY_NAME["ReasoningIsSlow"]["expr"].endswith("> 2")


@pytest.mark.requirement("OB-5")
def test_what_can_go_wrong_is_watched():
    watched = set().union(*(check(rule["expr"]) for rule in RULES))
    assert watched >= {
        *("memstream_consumer_lag", "memstream_join_behind_seconds", "memstream_part_up", "up"),
        *("memstream_outbox_age_seconds", "memstream_dead_letters_total"),
        *("memstream_policy_events_total", "memstream_language_model_calls_total"),
        "memstream_reasoning_seconds_bucket",
    }


def test_every_rule_is_tried_out():
    tried = {one["alertname"] for test in TRIED_OUT for one in test.get("alert_rule_test", ())}
    told = yaml.safe_dump([test.get("promql_expr_test") for test in TRIED_OUT])
    assert {name for name in BY_NAME if name not in tried and name not in told} == set()


@pytest.mark.requirement("OB-5")
@pytest.mark.parametrize(
    "arguments",
    [("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")],
    ids=" ".join,
)
def test_promtool_accepts_the_rules_and_they_fire_when_they_should(arguments):
    run_promtool(*arguments, cwd=FOLDER)


def test_in_ci_promtool_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="not installed"):
        run_promtool("--version", cwd=tmp_path)
