"""Writes the dashboard: ``python deploy/grafana/generate.py``, or ``make generate``.

Grafana's format takes some thirty lines for a panel of which these say what differs.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DASHBOARD = Path(__file__).parent / "dashboards" / "memstream.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
TENANT = 'tenant=~"$tenant"'
EVERY = "$__rate_interval"


class Panel(NamedTuple):
    """A panel: what it is called, what it means, and the queries with their legends."""

    title: str
    description: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    height: int = 8
    stacked: bool = False
    steps: Sequence[tuple[str, float | None]] = (("green", None),)


def selected(metric: str, where: str) -> str:
    """Return those series of a metric whose labels are as wanted."""
    return f"{metric}{{{where}}}" if where else metric


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Return how much a counter grows in a second, by some labels."""
    grouped = f"sum by ({by}) (" if by else "sum("
    return f"{grouped}rate({selected(metric, where)}[{EVERY}]))"


def quantile(share: float, metric: str, by: str = "", where: str = "") -> str:
    """Return where so large a share of a histogram lies below."""
    labels = f"le, {by}" if by else "le"
    buckets = selected(f"{metric}_bucket", where)
    return f"histogram_quantile({share}, sum by ({labels}) (rate({buckets}[{EVERY}])))"


def quantiles(metric: str, name: str = "") -> list[tuple[str, str]]:
    """Return the median and the 95th percentile of a histogram."""
    return [(quantile(share / 100, metric), f"{name}p{share}") for share in (50, 95)]


def stat(title: str, description: str, query: str, **more: Any) -> Panel:
    """Return a number."""
    return Panel(title, description, [(query, "")], kind="stat", width=4, height=4, **more)


ERRORS = 'code=~"unavailable|internal"'
FAILED = 'outcome=~"timeout|failed|nonsense"'
BAD_FROM_ONE: Sequence[tuple[str, float | None]] = (("green", None), ("red", 1))

ROWS: dict[str, list[Panel]] = {
    "Overview": [
        stat(
            "Searches",
            "Searches carried out in a second, by all workers.",
            rate("memory_rlm_routing_decision_total"),
            unit="reqps",
        ),
        stat(
            "Search p95",
            "From taking a batch of requests to having published its results.",
            quantile(0.95, "memstream_search_seconds"),
            unit="s",
            steps=(("green", None), ("yellow", 0.5), ("red", 2)),
        ),
        stat(
            "Errors",
            "Share of answers that say unavailable or internal: errors of ours, not of who asked.",
            f"{rate('memstream_answers_total', where=ERRORS)} / {rate('memstream_answers_total')}",
            unit="percentunit",
            steps=(("green", None), ("yellow", 0.01), ("red", 0.05)),
        ),
        stat(
            "Dead letters",
            "Messages kept as dead letters in the last hour.",
            "sum(increase(memstream_dead_letters_total[1h]))",
            steps=(("green", None), ("yellow", 1)),
        ),
        stat(
            "Workers",
            "Workers whose metrics Prometheus can read.",
            'sum(up{job="memstream"})',
            steps=(("red", None), ("green", 1)),
        ),
        stat(
            "Parts that answer",
            "1 while some worker reaches the store and some worker the broker.",
            "min(max by (part) (memstream_part_up))",
            steps=(("red", None), ("green", 1)),
        ),
        Panel(
            "Searches by route",
            "Searches in a second: answered at once, or taken apart.",
            [(rate("memory_rlm_routing_decision_total", "decision"), "{{decision}}")],
            "reqps",
            stacked=True,
        ),
        Panel(
            "Latency",
            "Batches of requests on the fast lane, and decompositions on the slow one.",
            [
                *quantiles("memstream_search_seconds", "search "),
                (
                    f"{quantile(0.95, 'memory_rlm_execution_duration_ms')} / 1000",
                    "decomposition p95",
                ),
            ],
            "s",
        ),
        Panel(
            "Answers",
            "Answers in a second by how they went: ok, or an error's code.",
            [(rate("memstream_answers_total", "code"), "{{code}}")],
            "reqps",
            stacked=True,
        ),
        Panel(
            "Messages handled",
            "Messages in a second, by topic.",
            [(rate("memstream_messages_total", "topic"), "{{topic}}")],
            "cps",
        ),
        Panel(
            "Retries",
            "Work tried again in a second because a part was away, by what it was about.",
            [(rate("memstream_retries_total", "topic"), "{{topic}}")],
            "cps",
        ),
        Panel(
            "Refusals",
            "Messages in a second that were refused because of their sender, or try to reach more.",
            [
                (rate("memstream_refusals_total", "code"), "{{code}}"),
                (rate("memstream_memories_not_found_total"), "memories not found"),
                (rate("memstream_wildcards_total"), "wildcards"),
            ],
            "cps",
        ),
    ],
    "Outcomes and rewards": [
        Panel(
            "Outcomes",
            "What came of searches, in a second; a search that was corrected counts again.",
            [(rate("memstream_outcomes_total", "outcome", TENANT), "{{outcome}}")],
            "cps",
            stacked=True,
        ),
        Panel(
            "Used",
            "Share of labels that say the results were used, by tenant.",
            [
                (
                    rate("memstream_outcomes_total", "tenant", f'outcome="result_used", {TENANT}')
                    + f" / {rate('memstream_outcomes_total', 'tenant', TENANT)}",
                    "{{tenant}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Median reward",
            "Of the searches that learning learned from, by tenant.",
            [(quantile(0.5, "memory_rlm_training_reward", "tenant", TENANT), "{{tenant}}")],
            "none",
        ),
    ],
    "Learning": [
        Panel(
            "Exploration",
            "How often a tenant's policy tries something else to learn from it.",
            [(f"max by (tenant) (memory_rlm_training_exploration_rate{{{TENANT}}})", "{{tenant}}")],
            "percentunit",
        ),
        Panel(
            "Policies",
            "What became of policies, each hour: promoted, rolled back, held, suspended, resumed.",
            [
                (
                    f"sum by (kind) (increase(memstream_policy_events_total{{{TENANT}}}[1h]))",
                    "{{kind}}",
                )
            ],
        ),
        Panel(
            "Policy version",
            "The policy that serves a tenant.",
            [(f"max by (tenant) (memstream_policy_version{{{TENANT}}})", "{{tenant}}")],
            "none",
        ),
        Panel(
            "Lessons",
            "Labelled searches in a second: new to learning, known before, or too late.",
            [(rate("memstream_lessons_total", "came"), "{{came}}")],
            "cps",
            width=12,
        ),
        Panel(
            "Labels",
            "Trajectories published in a second, first ones and corrections.",
            [(rate("memstream_labels_total", "revision"), "{{revision}}")],
            "cps",
            width=12,
        ),
    ],
    "Join": [
        Panel(
            "Open",
            "Searches whose outcome is open, and signals that wait for their search.",
            [
                ("max(memstream_open_trajectories)", "open searches"),
                ("max(memstream_parked_signals)", "parked signals"),
            ],
        ),
        Panel(
            "Time to label",
            "From the completion of a search to its first label.",
            quantiles("memstream_label_seconds"),
            "s",
        ),
        Panel(
            "Behind",
            "How long ago everything had been read: deadlines count up to then.",
            [("max(memstream_join_behind_seconds)", "behind")],
            "s",
        ),
        Panel(
            "Consumer lag",
            "Messages that the group has not read, by topic.",
            [("max by (topic) (memstream_consumer_lag)", "{{topic}}")],
        ),
        Panel(
            "Outbox",
            "Messages of the join to be published, and those that the broker does not take.",
            [
                ("max(memstream_outbox_messages)", "waiting"),
                ("max(memstream_outbox_refused_messages)", "refused"),
            ],
        ),
        Panel(
            "Outbox age",
            "How long the oldest message of the outbox waits already.",
            [("max(memstream_outbox_age_seconds)", "oldest")],
            "s",
        ),
        Panel(
            "Dead letters",
            "Messages kept each hour, by reason: dangling and late are signals without effect.",
            [("sum by (code) (increase(memstream_dead_letters_total[1h]))", "{{code}}")],
            width=12,
        ),
        Panel(
            "Out of order",
            "In a second: events seen before, signals ahead of their search, messages too large.",
            [
                (rate("memstream_join_duplicates_total"), "duplicates"),
                (rate("memstream_signals_parked_total"), "parked"),
                (rate("memstream_too_large_total"), "too large"),
            ],
            "cps",
            width=12,
        ),
    ],
    "Reasoning and decomposition": [
        Panel(
            "Reasoning",
            "How long reasoning about a complex query took; an alert fires above 2 s p95.",
            quantiles("memstream_reasoning_seconds"),
            "s",
            steps=(("green", None), ("red", 2)),
        ),
        Panel(
            "Language model",
            "Calls in a second by how they ended; refused ones were not made.",
            [(rate("memstream_language_model_calls_total", "outcome"), "{{outcome}}")],
            "reqps",
            stacked=True,
        ),
        Panel(
            "Language model failures",
            "Share of the calls made that failed; the breaker opens above 5 %.",
            [
                (
                    rate("memstream_language_model_calls_total", where=FAILED)
                    + " / "
                    + rate("memstream_language_model_calls_total", where='outcome!="refused"'),
                    "failed",
                )
            ],
            "percentunit",
            steps=(("green", None), ("red", 0.05)),
        ),
        Panel(
            "Language model latency",
            "How long calls took, those that failed too.",
            quantiles("memstream_language_model_seconds"),
            "s",
        ),
        Panel(
            "Breaker",
            "1 while it is open, and how often it opened in the last hour.",
            [
                ("max(memstream_language_model_breaker_open)", "open"),
                ("sum(increase(memstream_language_model_breaker_openings_total[1h]))", "openings"),
            ],
            steps=BAD_FROM_ONE,
        ),
        Panel(
            "Degraded",
            "In a second: answers without something helpful, and decompositions cut short.",
            [
                (rate("memstream_degradations_total", "part"), "without {{part}}"),
                (rate("memstream_fallbacks_total", "reason"), "stopped by {{reason}}"),
            ],
            "cps",
        ),
        Panel(
            "Decomposition depth",
            "How deep decompositions went.",
            quantiles("memory_rlm_execution_depth"),
            "none",
        ),
        Panel(
            "Decomposition tokens",
            "Tokens of language models that decompositions cost.",
            quantiles("memory_rlm_execution_tokens"),
        ),
        Panel(
            "Complexity",
            "How complex queries read; from the routing threshold on they are taken apart.",
            quantiles("memory_rlm_complexity_score"),
            "percentunit",
        ),
    ],
    "Workers": [
        Panel(
            "CPU",
            "Cores used, by worker.",
            [(f'rate(process_cpu_seconds_total{{job="memstream"}}[{EVERY}])', "{{instance}}")],
            "none",
        ),
        Panel(
            "Memory",
            "Resident memory, by worker.",
            [('process_resident_memory_bytes{job="memstream"}', "{{instance}}")],
            "bytes",
        ),
        Panel(
            "Messages in hand",
            "Messages taken and not yet acknowledged, by worker; and rebalances under way.",
            [
                ("faust_active_messages", "{{instance}}"),
                ("sum(faust_total_rebalances)", "rebalancing"),
            ],
        ),
        Panel(
            "Received and sent",
            "Messages in a second, and those that could not be sent.",
            [
                (rate("faust_messages_received_total"), "received"),
                (rate("faust_total_sent_messages_total"), "sent"),
                (rate("faust_total_error_messages_sent_total"), "not sent"),
            ],
            "cps",
        ),
        Panel(
            "Sending",
            "How long the broker took to confirm a message.",
            quantiles("faust_producer_send_latency"),
            "ms",
        ),
        Panel(
            "Committing",
            "How long the broker took to commit offsets.",
            quantiles("faust_consumer_commit_latency"),
            "ms",
        ),
    ],
}


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana reads it."""
    return {
        "uid": "memstream",
        "title": "memstream",
        "description": "How searches, outcomes, learning, the join and reasoning are doing.",
        "tags": ["memstream"],
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_rollbacks()]},
        "templating": {"list": [_sources(), _tenants()]},
        "panels": list(_panels()),
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
        }
        left, top, below = 0, top + 1, top + 1
        for panel in panels:
            if left + panel.width > COLUMNS:
                left, top = 0, below
            number += 1
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            yield _panel(number, panel, place)
            left, below = left + panel.width, max(below, top + panel.height)
        top = below


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    steps = [{"color": color, "value": value} for color, value in panel.steps]
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "min": None if panel.unit == "none" else 0,
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if panel.kind == "stat":
        options: dict[str, Any] = {
            "colorMode": "value",
            "graphMode": "area",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
        defaults["noValue"] = "0"
    else:
        options = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
        defaults["custom"] = {
            "fillOpacity": 25 if panel.stacked else 8,
            "lineWidth": 1,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none"},
            "thresholdsStyle": {"mode": "dashed" if len(panel.steps) > 1 else "off"},
        }
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": query,
                "legendFormat": legend or "__auto",
            }
            for place, (query, legend) in enumerate(panel.queries)
        ],
    }


def _sources() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "multi": False,
        "includeAll": False,
        "current": {"text": "Prometheus", "value": "prometheus"},
    }


def _tenants() -> dict[str, Any]:
    query = "label_values(memstream_outcomes_total, tenant)"
    return {
        "name": "tenant",
        "label": "Tenant",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": "tenants"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _rollbacks() -> dict[str, Any]:
    """Mark rollbacks in every panel."""
    return {
        "name": "Rollbacks",
        "enable": True,
        "iconColor": "red",
        "datasource": SOURCE,
        "expr": f'increase(memstream_policy_events_total{{kind="rolled back", {TENANT}}}[1m]) > 0',
        "titleFormat": "rolled back",
        "textFormat": "{{tenant}}",
        "step": "60s",
    }


if __name__ == "__main__":
    DASHBOARD.write_text(json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n")
