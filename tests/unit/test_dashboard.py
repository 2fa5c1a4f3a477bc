"""The dashboard: Grafana can read it, it shows what is counted, and nothing lies over another."""

import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from tests.unit.exported import EXPORTED, METRICS, check, names_of, run_promtool

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((FOLDER / "dashboards" / "memstream.json").read_text())
PANELS = DASHBOARD["panels"]
DRAWN = [panel for panel in PANELS if panel["type"] != "row"]
VARIABLES = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
# Either tells the same as another does, or belongs to one partition.
NOT_DRAWN = {
    *("faust_messages_received_per_topic", "faust_messages_received_per_topics_partition"),
    *("faust_topic_messages_sent", "faust_producer_error_send_latency"),
    *("faust_total_rebalances_recovering", "faust_rebalance_done_consumer_latency"),
    *("faust_rebalance_done_latency", "faust_topic_partition_end_offset"),
    "faust_topic_partition_offset_commited",
}


def expressions(panel):
    for target in panel["targets"]:
        plain = target["expr"].replace("$__rate_interval", "1m").replace("$tenant", ".*")
        assert "$" not in plain
        yield plain, target["legendFormat"]


def test_it_is_what_its_script_writes():
    assert runpy.run_path(str(FOLDER / "generate.py"))["dashboard"]() == DASHBOARD


@pytest.mark.requirement("OB-5")
@pytest.mark.parametrize("panel", DRAWN, ids=lambda panel: panel["title"])
def test_a_panel_shows_what_is_counted(panel):
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert [target["refId"] for target in panel["targets"]] == list("ABC")[: len(panel["targets"])]
    for expression, legend in expressions(panel):
        metrics = check(expression)
        labels = set().union(*(EXPORTED.get(metric, set()) for metric in metrics))
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= labels | {"instance"}


@pytest.mark.requirement("OB-5")
def test_promtool_reads_every_query(tmp_path):
    queries = [query for panel in DRAWN for query, _ in expressions(panel)]
    rules = [{"record": f"query:{n}", "expr": query} for n, query in enumerate(queries)]
    written = {"groups": [{"name": "queries", "rules": rules}]}
    (tmp_path / "queries.yml").write_text(yaml.safe_dump(written))
    run_promtool("check", "rules", "queries.yml", cwd=tmp_path)


@pytest.mark.requirement("OB-5")
def test_everything_that_is_counted_is_shown():
    shown = set().union(*(check(one) for panel in DRAWN for one, _ in expressions(panel)))
    hidden = {m.describe()[0].name for m in METRICS if not names_of(m) & shown}
    assert hidden == NOT_DRAWN


def test_grafana_finds_what_it_needs():
    assert DASHBOARD["uid"]
    assert DASHBOARD["title"]
    assert DASHBOARD["schemaVersion"] >= 36
    assert DASHBOARD["time"].keys() == {"from", "to"}
    assert "id" not in DASHBOARD  # A number of Grafana's own, by which an import would overwrite.
    numbers = [panel["id"] for panel in PANELS]
    assert len(set(numbers)) == len(numbers)
    for panel in PANELS:
        assert panel.keys() >= {"id", "type", "title", "gridPos"}
    assert VARIABLES["datasource"]["type"] == "datasource"
    tenants = VARIABLES["tenant"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", tenants["definition"]).groups()
    assert label in EXPORTED[metric]
    assert tenants["includeAll"]
    for annotation in DASHBOARD["annotations"]["list"]:
        check(annotation["expr"].replace("$tenant", ".*"))


def test_no_panel_lies_over_another():
    taken = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_containers_grafana_finds_it():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    mounted = dict(
        volume.removesuffix(":ro").split(":")
        for volume in compose["services"]["grafana"]["volumes"]
    )
    provider = yaml.safe_load((FOLDER / "provisioning/dashboards/memstream.yml").read_text())
    [path] = [one["options"]["path"] for one in provider["providers"]]
    assert mounted["./deploy/grafana/dashboards"] == path
    source = yaml.safe_load((FOLDER / "provisioning/datasources/prometheus.yml").read_text())
    current = VARIABLES["datasource"]["current"]["value"]
    assert current in [one["uid"] for one in source["datasources"]]
