"""Switches traces on where the standard variables of OpenTelemetry ask for them."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog

from topics.traces import trace_by

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

log = structlog.get_logger(__name__)

SERVICE: Final = "memstream"
FLUSH_S: Final = 1.5
"""So long the end of a worker waits for a collector to take the last spans; Ctrl-C promises 5 s."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")


def wanted_exporters(environment: Mapping[str, str]) -> list[str]:
    """Return where spans are to go: nowhere unless a variable says so."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    named = environment.get("OTEL_TRACES_EXPORTER", "")
    if not named and any(environment.get(name) for name in _ENDPOINTS):
        named = "otlp"
    found = [name.strip() for name in named.split(",")]
    return [name for name in found if name not in ("", "none")]


@contextmanager
def traces(environment: Mapping[str, str]) -> Iterator[None]:
    """Trace what this process does for as long as the block lasts, if that is asked for."""
    wanted = wanted_exporters(environment)
    if wanted and not _is_installed():
        log.warning(
            "traces are asked for, but OpenTelemetry is not installed: "
            "install memstream[otel], or set OTEL_SDK_DISABLED=true"
        )
        wanted = []
    exporters = [made for name in wanted if (made := _exporter(name, environment)) is not None]
    if not exporters:
        yield
        return
    with _tracing(exporters):
        log.info("traces are on", exporters=wanted)
        yield


@contextmanager
def _tracing(exporters: "list[SpanExporter]") -> Iterator[None]:
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from topics.spans import Spans

    said = OTELResourceDetector().detect().attributes
    provider = TracerProvider(
        resource=Resource.create({"service.name": SERVICE, **said}), shutdown_on_exit=False
    )
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace_by(Spans(provider.get_tracer(SERVICE)))
    try:
        yield
    finally:
        trace_by(None)
        # A collector that does not answer must not hold up the end.
        flushing = threading.Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        flushing.join(FLUSH_S)


def _is_installed() -> bool:
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError:
        return False
    return True


def _exporter(name: str, environment: Mapping[str, str]) -> "SpanExporter | None":
    if name == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        asked = {environment.get(one, "") for one in _PROTOCOLS} - {"", "http/protobuf"}
        if asked:
            log.warning("traces are sent as http/protobuf only", asked=sorted(asked))
        return OTLPSpanExporter()
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    log.warning("unknown traces exporter, left out: otlp, console and none are known", name=name)
    return None
