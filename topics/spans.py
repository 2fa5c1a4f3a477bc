"""Spans of OpenTelemetry, which is an extra: imported only where traces are switched on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from topics.traces import Attributes, Kind, Span

_W3C: Final = TraceContextTextMapPropagator()
_KINDS: Final = {
    "internal": trace.SpanKind.INTERNAL,
    "consumer": trace.SpanKind.CONSUMER,
    "producer": trace.SpanKind.PRODUCER,
}


class _Traced:
    """A span, and what a message carries that comes of it."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str | None:
        """What a message carries that comes of it."""
        carried: dict[str, str] = {}
        _W3C.inject(carried, trace.set_span_in_context(self._span, Context()))
        return carried.get("traceparent")

    def set(self, attributes: Attributes) -> None:
        """Tell more of it."""
        self._span.set_attributes(dict(attributes))


class Spans:
    """Makes spans by a tracer of OpenTelemetry."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def span(self, name: str, kind: Kind, attributes: Attributes) -> Iterator[Span]:
        """Trace a block as a part of what is being done."""
        made = self._tracer.start_span(name, kind=_KINDS[kind], attributes=dict(attributes))
        with _lasting([made]) as (one,):
            yield one

    @contextmanager
    def span_of(
        self,
        traceparent: str | None,
        name: str,
        kind: Kind,
        attributes: Attributes,
        links: Iterable[str | None],
    ) -> Iterator[Span]:
        """Trace a block in the trace of a message, or else in a new one, linked to others."""
        made = self._tracer.start_span(
            name,
            context=_context(traceparent),
            kind=_KINDS[kind],
            attributes=dict(attributes),
            links=_links(links),
        )
        with _lasting([made]) as (one,):
            yield one

    def side_by_side(self, names: Sequence[str]) -> AbstractContextManager[Sequence[Span]]:
        """Trace what is done side by side; what happens within is a part of the first."""
        return _lasting([self._tracer.start_span(name) for name in names])

    def mark(self, attributes: Attributes) -> None:
        """Tell more of what is being done."""
        trace.get_current_span().set_attributes(dict(attributes))

    def ids(self) -> Mapping[str, str]:
        """Return the ids of what is being done."""
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return {}
        return {
            "trace_id": trace.format_trace_id(context.trace_id),
            "span_id": trace.format_span_id(context.span_id),
        }


@contextmanager
def _lasting(made: Sequence[trace.Span]) -> Iterator[Sequence[Span]]:
    """End spans with the block; when it fails they say with what, but not its message."""
    try:
        with trace.use_span(made[0], record_exception=False, set_status_on_exception=False):
            yield [_Traced(one) for one in made]
    except BaseException as error:
        for one in made:
            one.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
        raise
    finally:
        for one in made:
            one.end()


def _context(traceparent: str | None) -> Context:
    """Return the context that a header tells of; an empty one, and so a new trace, if none."""
    return _W3C.extract({"traceparent": traceparent or ""}, Context())


def _links(traceparents: Iterable[str | None]) -> list[trace.Link]:
    named = (trace.get_current_span(_context(one)) for one in dict.fromkeys(traceparents) if one)
    found = (span.get_span_context() for span in named)
    return [trace.Link(context) for context in found if context.is_valid]
