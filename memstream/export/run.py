"""Copies labelled trajectories from their topic to a file.

The topic is read twice: once to see which messages hold the newest revisions, once to write these.
"""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memstream.broker import Broker
from memstream.export.files import Output
from memstream.export.newest import Head, Newest, Place
from memstream.reading import messages
from models import Record, Trajectory
from topics import DecodeError, Topic, TopicNames, decode

R = TypeVar("R", bound=Record)

Advance = Callable[[str, int, int], None]
"""Is told what is being done, how far that is, and of how much."""


class Period(NamedTuple):
    """Searches that began in it are exported."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Tell whether a moment is in it; its end is not."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


EVER = Period()


class Exported(NamedTuple):
    """What an export came to."""

    rows: int
    gone: int
    """How many the broker deleted while they were being exported."""
    unreadable: int
    """How many messages are not trajectories that this version understands."""


async def export(
    broker: Broker,
    names: TopicNames,
    path: Path,
    form: str,
    advance: Advance,
    *,
    tenant_id: str | None = None,
    period: Period = EVER,
    all_revisions: bool = False,
) -> Exported:
    """Write what the topic holds now; what comes meanwhile is for the next time."""
    topic = names.name(Topic.TRAJECTORIES)

    async def heads(doing: str) -> AsyncIterator[tuple[Any, Head | None]]:
        async for message in messages(broker, topic, progress=lambda *far: advance(doing, *far)):
            yield message, _read(Head, message.value)

    rows = strange = unreadable = 0
    with Output(path, form) as output, Newest(all_revisions=all_revisions) as newest:
        async for message, head in heads("reading"):
            if head is None:
                strange += 1
            elif tenant_id in (None, head.tenant_id) and period.holds(head.started_at):
                newest.note(head, Place(message.partition, message.offset))
        async for message, head in heads("writing"):
            if head is None or not newest.holds(head, Place(message.partition, message.offset)):
                continue
            trajectory = _read(Trajectory, message.value)
            if trajectory is None:
                unreadable += 1
            else:
                output.write(trajectory, len(message.value))
                rows += 1
        gone = len(newest) - rows - unreadable
    return Exported(rows, gone, strange + unreadable)


def _read(model: type[R], value: bytes | None) -> R | None:
    try:
        return decode(model, value, own=True)
    except DecodeError:
        return None  # Not written by a memstream of this version.
