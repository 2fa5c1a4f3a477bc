"""What memstream exports to Prometheus, and what a PromQL expression asks of it."""

import os
import re
import shutil
import subprocess

import pytest
from prometheus_client import Counter, Gauge, Histogram

from agents import metrics as of_agents
from memstream.stream_metrics import STREAM_METRICS
from retrieval import metrics as of_retrieval

METRICS = [
    *(
        metric
        for module in (of_agents, of_retrieval)
        for metric in vars(module).values()
        if isinstance(metric, Counter | Gauge | Histogram)
    ),
    *STREAM_METRICS,
]

FUNCTIONS = {
    *("sum", "max", "min", "count", "by", "rate", "increase"),
    *("histogram_quantile", "or", "unless", "offset"),
}
ADDED_BY_PROMETHEUS = {"job", "instance"}
FROM_ELSEWHERE = {"up": set(), "ALERTS": {"alertname", "alertstate"}}
"""What Prometheus makes itself."""
OF_THE_PROCESS = {"process_cpu_seconds_total": set(), "process_resident_memory_bytes": set()}


def names_of(metric):
    """The names under which Prometheus stores a metric."""
    name = metric.describe()[0].name
    if isinstance(metric, Counter):
        return {f"{name}_total"}
    if isinstance(metric, Gauge):
        return {name}
    # A sum that can fall is none, so there is none where rewards can be negative.
    summed = {f"{name}_sum"} if metric._upper_bounds[0] >= 0 else set()
    return {f"{name}_bucket", f"{name}_count"} | summed


def page_name(metric):
    """The name by which people look for a metric."""
    name = metric.describe()[0].name
    return f"{name}_total" if isinstance(metric, Counter) else name


EXPORTED = {
    name: set(metric._labelnames) | ({"le"} if isinstance(metric, Histogram) else set())
    for metric in METRICS
    for name in names_of(metric)
}
KNOWN = EXPORTED | FROM_ELSEWHERE | OF_THE_PROCESS


def check(expression):
    """Fail unless every metric and label that is named is exported."""
    plain = re.sub(r'"[^"]*"', '""', expression)
    selectors = re.findall(r"([a-zA-Z_]\w*)\s*\{([^}]*)\}", plain)
    grouped = re.findall(r"\bby \(([^)]*)\)", plain)
    rest = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)|offset \w+", " ", plain)
    metrics = set(re.findall(r"(?<![\d.])\b[a-zA-Z_]\w*", rest)) - FUNCTIONS
    assert metrics, expression
    assert metrics <= KNOWN.keys(), metrics - KNOWN.keys()
    for metric, labels in selectors:
        named = set(re.findall(r"(\w+)\s*[=!]", labels))
        assert named <= KNOWN[metric] | ADDED_BY_PROMETHEUS, (metric, named)
    known = set().union(*(KNOWN[metric] for metric in metrics)) | ADDED_BY_PROMETHEUS
    for labels in grouped:
        named = {label.strip() for label in labels.split(",")}
        assert named <= known, (expression, named)
    return metrics


def run_promtool(*arguments, cwd):
    """Have promtool check something; with CI=true it must be there."""
    found = shutil.which("promtool")
    if found is None and os.environ.get("CI") != "true":
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    assert found, "promtool is not installed (Debian: apt-get install prometheus)"
    done = subprocess.run([found, *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
