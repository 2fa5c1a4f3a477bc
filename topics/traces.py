"""Traces: what is done with messages, and which trace each belongs to.

Spans are made by OpenTelemetry where it is installed and switched on. Until then nothing here costs
anything, and a message's trace is passed on as it came. A span holds ids, kinds and counts: never a
text, nor the message of an error, which may quote one.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Literal, Protocol

Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "consumer", "producer"]

LONGEST: Final = 256
"""A traceparent has 55 characters, in versions to come perhaps some more."""


class Span(Protocol):
    """Something that is being done."""

    @property
    def traceparent(self) -> str | None:
        """What a message carries that comes of it; None while nothing is traced."""

    def set(self, attributes: Attributes) -> None:
        """Tell more of it."""


class Tracer(Protocol):
    """Makes spans."""

    def span(self, name: str, kind: Kind, attributes: Attributes) -> AbstractContextManager[Span]:
        """Trace a block as a part of what is being done."""

    def span_of(
        self,
        traceparent: str | None,
        name: str,
        kind: Kind,
        attributes: Attributes,
        links: Iterable[str | None],
    ) -> AbstractContextManager[Span]:
        """Trace a block in the trace of a message, or else in a new one, linked to others."""

    def side_by_side(self, names: Sequence[str]) -> AbstractContextManager[Sequence[Span]]:
        """Trace what is done side by side: spans that begin and end with the block."""

    def mark(self, attributes: Attributes) -> None:
        """Tell more of what is being done."""

    def ids(self) -> Mapping[str, str]:
        """Return the ids of what is being done."""


class _Untraced:
    """The span of what is not traced."""

    traceparent: Final = None

    def set(self, attributes: Attributes) -> None:
        """Tell nobody."""

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _AllUntraced:
    """The spans of what is not traced."""

    def __enter__(self) -> Sequence[Span]:
        return ()

    def __exit__(self, *_: object) -> None:
        return None


_UNTRACED: Final = _Untraced()
_ALL_UNTRACED: Final = _AllUntraced()
_tracer: Tracer | None = None


def trace_by(tracer: Tracer | None) -> None:
    """Have spans made from now on, or none: as with logs and metrics, one for a process."""
    global _tracer
    _tracer = tracer


def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal"
) -> AbstractContextManager[Span]:
    """Trace a block as a part of what is being done."""
    return _UNTRACED if _tracer is None else _tracer.span(name, kind, attributes or {})


def span_of(
    traceparent: str | None,
    name: str,
    attributes: Attributes | None = None,
    *,
    kind: Kind = "internal",
    links: Iterable[str | None] = (),
) -> AbstractContextManager[Span]:
    """Trace a block in the trace of a message, or else in a new one, linked to others."""
    if _tracer is None:
        return _UNTRACED
    return _tracer.span_of(traceparent, name, kind, attributes or {}, links)


def side_by_side(names: Sequence[str]) -> AbstractContextManager[Sequence[Span]]:
    """Trace what is done side by side; no spans at all while nothing is traced."""
    return _ALL_UNTRACED if _tracer is None else _tracer.side_by_side(names)


def mark(attributes: Attributes) -> None:
    """Tell more of what is being done."""
    if _tracer is not None:
        _tracer.mark(attributes)


def trace_ids() -> Mapping[str, str]:
    """Return the ids of what is being done, for the log; none while nothing is traced."""
    return {} if _tracer is None else _tracer.ids()


def is_worth_keeping(traceparent: str) -> bool:
    """Tell whether it can be one: whatever a header holds would be stored with each search."""
    return len(traceparent) <= LONGEST and traceparent.isascii() and traceparent.isprintable()
