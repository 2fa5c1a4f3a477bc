"""Says what is being handled: to the log by whose it is, to traces by where it came from."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from structlog.contextvars import bind_contextvars

from agents.delivery import Delivery
from topics import Headers
from topics.traces import Attributes, Span, mark, span, span_of

_IDS: Final = ("tenant_id", "request_id", "event_id")


def ids_in(record: object) -> Mapping[str, str]:
    """Return the ids by which log lines about a record are found."""
    named = ((name, getattr(record, name, None)) for name in _IDS)
    return {name: value for name, value in named if value}


def about(record: object) -> None:
    """Have the log lines and the span of what is being handled say whose it is.

    It holds to the end of the task: requests have a task each.
    """
    ids = ids_in(record)
    bind_contextvars(**ids)
    mark({f"memstream.{name}": value for name, value in ids.items()})


@contextmanager
def handling(delivery: Delivery) -> Iterator[Headers]:
    """Trace how a message is handled; yields its headers, to be carried on."""
    headers = Headers.parse(delivery.headers)
    attributes: Attributes = {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.destination.name": delivery.topic,
        "messaging.destination.partition.id": str(delivery.partition),
        "messaging.kafka.offset": delivery.offset,
    }
    name = f"process {delivery.topic}"
    with span_of(headers.traceparent, name, attributes, kind="consumer") as one:
        yield headers.carrying(one.traceparent)


def handling_all(batch: Sequence[Delivery]) -> AbstractContextManager[Span]:
    """Trace how a batch is handled, whose messages may belong to as many traces."""
    topic = batch[0].topic
    return span_of(
        None,
        f"process {topic}",
        {
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.destination.name": topic,
            "messaging.batch.message_count": len(batch),
        },
        kind="consumer",
        links=(Headers.parse(delivery.headers).traceparent for delivery in batch),
    )


@contextmanager
def sending(topic: str, headers: Headers) -> Iterator[Headers]:
    """Trace how a message is sent; yields the headers with its place in the trace."""
    attributes: Attributes = {
        "messaging.system": "kafka",
        "messaging.operation.type": "send",
        "messaging.destination.name": topic,
    }
    with span(f"send {topic}", attributes, kind="producer") as one:
        yield headers.carrying(one.traceparent)
