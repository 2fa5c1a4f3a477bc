"""What an operator sees of a running service: metrics, traces and logs, and no tenant's words."""

import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.collector import collecting
from tests.acceptance.language_model import language_model
from tests.acceptance.service import HTTP, Client, running, wait_for
from tests.language_model import Behaviour
from tests.unit.exported import EXPORTED, METRICS

MARKER = "zyxomarker"
SIMPLE = f"where is the {MARKER}"
COMPLEX = f"compare the {MARKER} of all teams with that of the others and summarize the history"
TRACES = {name: f"{number:032x}" for number, name in enumerate(("simple", "complex"), start=7)}
CALLER = "00f067aa0ba902b7"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A service with JSON logs and a collector, whose language model repeats what it is asked."""
    monkeypatch = pytest.MonkeyPatch()
    with (
        collecting() as collector,
        language_model(Behaviour("fail")) as model,
        monkeypatch.context(),
    ):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        folder = tmp_path_factory.mktemp("observed")
        settings = {"embedder": "none", "log_format": "json", "outcome_window_s": 2}
        with running(folder, **settings, **model.settings) as service:
            topics = ("search.results", "trajectories", "dead-letters", "context.assembled")
            client = Client(service.runtime["broker"], topics)
            yield Seen(service, client, collector).watch()
            client.close()
        monkeypatch.undo()


class Seen:
    """What was seen of some requests."""

    def __init__(self, service, client, collector):
        self.service, self.client, self.collector = service, client, collector

    def watch(self):
        self.client.remember("m1", f"the {MARKER} is under the bed")
        self.client.search_until(f"the {MARKER}", "m1")
        for name, query in (("simple", SIMPLE), ("complex", COMPLEX)):
            request = {"request_id": name, "tenant_id": "acme", "session_id": name, "query": query}
            traceparent = f"00-{TRACES[name]}-{CALLER}-01"
            headers = [("traceparent", traceparent), ("correlation-id", name)]
            self.client.publish("search.requests", request, headers=headers)
        broken = {"request_id": "long", "tenant_id": "acme", "session_id": "s"}
        self.client.publish("search.requests", {**broken, "query": f"{MARKER} " * 9000})
        self.client.publish("search.requests", {**broken, "query": MARKER, "limit": MARKER})
        self.client.publish("items", {"event_id": MARKER, "content": MARKER})
        self.answers = {name: self.client.result(name) for name in (*TRACES, "long")}
        self.sent = {name: self.client.headers_of("search.results", name)[0] for name in TRACES}
        for name in TRACES:
            self.client.about(name, "trajectories")
        self.labelled = {
            name: dict(message.headers())
            for message in self.client._seen["memory.trajectories"]
            if (name := json.loads(message.value())["request_id"]) in TRACES
        }
        wait_for(lambda: len(self.client.dead_letters()) >= 3, "three dead letters")
        for name in TRACES:
            wait_for(lambda name=name: self._has(name, "label"), f"the label of {name}")
        return self

    def _has(self, name, span):
        return span in [one.name for one in self.collector.of(TRACES[name]).values()]

    def place(self, headers):
        _, trace_id, span_id, _ = headers["traceparent"].decode().split("-")
        return trace_id, span_id


@pytest.mark.requirement("TJ-2")
@pytest.mark.parametrize("name", TRACES)
def test_a_trace_goes_from_request_to_result_to_trajectory(seen, name):
    spans = seen.collector.of(TRACES[name])
    trace_id, sent = seen.place(seen.sent[name])
    assert trace_id == TRACES[name]
    assert spans[sent].name == "send memory.search.results"
    trace_id, labelled = seen.place(seen.labelled[name])
    assert trace_id == TRACES[name]
    path = []
    at = labelled
    while at != CALLER:
        path.append(spans[at].name)
        at = spans[at].parent_span_id.hex()
    handed_over = ["process memory.internal.decompositions", "send memory.internal.decompositions"]
    assert path == [
        *("label", "send memory.internal.decisions"),
        *(handed_over if name == "complex" else []),
        "process memory.search.requests",
    ]
    assert seen.collector.services == {"memstream"}
    assert seen.sent[name].keys() == {"correlation-id", "traceparent"}
    assert all(MARKER not in str(span) for span in seen.collector.spans)


@pytest.mark.requirement("OB-5")
def test_logs_are_objects_with_ids_and_traces_and_without_tenants_words(seen):
    assert (seen.answers["simple"]["status"], seen.answers["long"]["status"]) == ("ok", "error")
    output = seen.service.output()
    assert MARKER not in output
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    # What is not an object was said by `memstream up`, to a person.
    rest = [line for line in output.splitlines() if not line.startswith("{")]
    assert not [line for line in rest if re.search("Traceback|warning|error", line, re.IGNORECASE)]
    for line in lines:
        assert line.keys() >= {"timestamp", "level", "event", "logger"}
    letters = [line for line in lines if line["event"] == "dead letter"]
    assert len(letters) >= 3
    assert ("acme", "long") in [(one.get("tenant_id"), one.get("request_id")) for one in letters]
    [failed] = [line for line in lines if line["event"].startswith("reasoning failed")]
    assert (failed["tenant_id"], failed["request_id"]) == ("acme", "complex")
    assert (failed["reason"], failed["trace_id"]) == ("failed", TRACES["complex"])


@pytest.mark.requirement("OB-1", "OB-2", "OB-3", "OB-4")
def test_the_page_has_every_metric_by_its_exact_name(seen):
    page = HTTP.get(f"{seen.service.runtime['web']}/metrics").text
    families = {one.name: one for one in text_string_to_metric_families(page)}
    assert {metric.describe()[0].name for metric in METRICS} <= families.keys()
    samples = {sample.name: sample for one in families.values() for sample in one.samples}
    for name in samples.keys() & EXPORTED.keys():
        assert samples[name].labels.keys() <= EXPORTED[name], name
    ours = {name for name in samples if name.startswith(("memory_", "memstream_", "faust_"))}
    assert {name for name in ours if not name.endswith("_created")} <= EXPORTED.keys()
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for one in families.values()
        for sample in one.samples
    }
    assert values["memory_rlm_routing_decision_total", "standard"] >= 2
    assert values["memory_rlm_routing_decision_total", "rlm"] == 1
    assert values["memory_rlm_execution_duration_ms_count",] == 1
    assert values["memstream_part_up", "broker"] == values["memstream_part_up", "store"] == 1
    assert values["memstream_answers_total", "too_large", "memory.search.results"] == 1
    assert sum(v for (name, *_), v in values.items() if name == "memstream_outcomes_total") >= 2
    assert values["faust_messages_received_total",] >= 5
    assert values["faust_total_sent_messages_total",] >= 5
    assert ("faust_active_messages",) in values
    wait_for(lambda: seen.service.metric("faust_active_messages") == 0, "nothing to be in hand")
