"""The alert rules: what they watch is what is counted."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from agents import metrics as of_agents
from retrieval import metrics as of_retrieval

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
KNOWN = {
    f"{metric.describe()[0].name}{suffix}"
    for module in (of_agents, of_retrieval)
    for metric in vars(module).values()
    if isinstance(metric, Counter | Gauge | Histogram)
    for suffix in ("", "_total", "_bucket")
}


def test_prometheus_reads_the_rules():
    configuration = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert all((FOLDER / name).exists() for name in configuration["rule_files"])


@pytest.mark.requirement("RR-4", "RR-8", "OB-5")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_rule_watches_something_that_is_counted_and_says_what_to_do(rule):
    named = set(re.findall(r"\bmem(?:stream|ory)_\w+", rule["expr"]))
    assert named
    assert named <= KNOWN
    assert rule["annotations"].keys() == {"summary", "remedy"}


@pytest.mark.requirement("RR-4")
def test_slow_reasoning_is_told_from_two_seconds_on():
    [rule] = [rule for rule in RULES if rule["alert"] == "ReasoningIsSlow"]
    assert "0.95" in rule["expr"]
    assert rule["expr"].endswith("> 2")


@pytest.mark.requirement("OB-5")
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_rules():
    subprocess.run(["promtool", "check", "rules", FOLDER / "alerts.yml"], check=True)
