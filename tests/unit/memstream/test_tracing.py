"""Traces are switched on by the standard variables, and only by these."""

import sys

import pytest
from structlog.testing import capture_logs

from memstream import tracing
from memstream.tracing import traces, wanted_exporters
from topics import traces as traced
from topics.traces import mark, side_by_side, span, span_of, trace_ids

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, []),
        ({"OTEL_SERVICE_NAME": "x"}, []),
        ({ENDPOINT: ""}, []),
        ({ENDPOINT: "http://c:4318"}, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, ["otlp"]),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ["otlp", "console"]),
        ({ENDPOINT: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, []),
        ({ENDPOINT: "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, []),
    ],
)
def test_what_switches_them_on(environment, wanted):
    assert wanted_exporters(environment) == wanted


def test_without_being_asked_for_there_are_none():
    with traces({}):
        with span("a") as one, span_of(None, "b", links=(_ for _ in [1 / 1])) as other:
            one.set({"x": 1})
            mark({"y": 2})
            assert (one.traceparent, other.traceparent, trace_ids()) == (None, None, {})
        with side_by_side(["a", "b"]) as spans:
            assert spans == ()
        assert span("a") is span("b")


def test_without_the_extra_that_is_said_and_nothing_is_traced(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with capture_logs() as logs, traces({ENDPOINT: "http://127.0.0.1:1"}):
        assert traced._tracer is None
    [line] = logs
    assert line["log_level"] == "warning"
    assert "memstream[otel]" in line["event"]


def test_what_is_not_known_is_said_and_left_out():
    with capture_logs() as logs, traces({"OTEL_TRACES_EXPORTER": "zipkin"}):
        assert traced._tracer is None
    assert [line["name"] for line in logs] == ["zipkin"]


def test_a_collector_that_is_away_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(tracing, "FLUSH_S", 0.01)
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    asked = {ENDPOINT: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    with capture_logs() as logs, traces(asked), span("a") as one:
        assert one.traceparent.startswith("00-")
        assert one.traceparent.split("-")[1] == trace_ids()["trace_id"]
    assert traced._tracer is None
    assert [line["event"] for line in logs] == [
        *("traces are sent as http/protobuf only", "traces are on"),
    ]
