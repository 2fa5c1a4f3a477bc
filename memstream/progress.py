"""How far the join's input has been read, by all workers together.

Whoever publishes a signal chooses its partition in its own way (librdkafka hashes keys otherwise
than Java), so a signal may be on any partition and with any worker. What all of them have done is
known to the broker: offsets are committed after the transaction that a message led to.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

MOST_LOOKS = 64
"""So many looks are remembered while there is a backlog; then every other one is dropped."""

MOST_MARKERS = 16
"""Only so near to the end of a partition it may be marks of transactions that are not read."""

LOOK_FOR_MS = 500
"""A broker that has a message there sends it in a few milliseconds."""


class Look(NamedTuple):
    """Where partitions ended at a moment."""

    at: datetime
    ends: Mapping[Any, int]


class InputProgress:
    """Looks where partitions end, and from then on for the group to have got there."""

    def __init__(
        self, broker: str, group: str, topics: Sequence[str], clock: Callable[[], datetime]
    ) -> None:
        self._broker = broker
        self._group = group
        self._topics = topics
        self._clock = clock
        self._stack = AsyncExitStack()
        self._looks: list[Look] = []
        self._until: datetime | None = None
        self._markers: dict[Any, tuple[int, int, int]] = {}
        """For each partition, from where to where was looked for marks last, and where they end."""

    async def __aenter__(self) -> Self:
        # It has no group of its own: it only asks.
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._broker, enable_auto_commit=False, auto_offset_reset="none"
        )
        self._stack.push_async_callback(self._consumer.stop)
        self._admin = AIOKafkaAdminClient(bootstrap_servers=self._broker)
        self._stack.push_async_callback(self._admin.close)
        await self._consumer.start()
        await self._admin.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def read_until(self) -> datetime | None:
        """Return a moment such that all that was there then has been read; None if unknown."""
        partitions = await self._partitions()
        if partitions:
            offsets = await self._admin.list_consumer_group_offsets(
                self._group, partitions=partitions
            )
            beginnings = await self._consumer.beginning_offsets(partitions)
            # Where nothing was written, or all of it has been deleted since, nobody reads.
            read = {one: max(offsets[one].offset, beginnings[one]) for one in partitions}
            await self._skip_markers(read)
            self._pass(read)
            await self._look(partitions)
        return self._until

    async def _partitions(self) -> list[Any]:
        topics = await self._admin.describe_topics(list(self._topics))
        if not all(topic["partitions"] for topic in topics):
            return []  # A topic that is not known yet may hold anything.
        return [
            TopicPartition(topic["topic"], partition["partition"])
            for topic in topics
            for partition in topic["partitions"]
        ]

    async def _skip_markers(self, read: dict[Any, int]) -> None:
        """Go past what no agent will ever get: the marks that end producers' transactions."""
        for one, end in self._looks[-1].ends.items() if self._looks else ():
            if 0 < end - read.get(one, end) <= MOST_MARKERS:
                if self._markers.get(one, ())[:2] != (read[one], end):
                    self._markers[one] = (read[one], end, await self._next_after(one, read[one]))
                read[one] = self._markers[one][2]

    async def _next_after(self, partition: Any, offset: int) -> int:
        """Return where the next message after an offset is, or where they end."""
        self._consumer.assign([partition])
        self._consumer.seek(partition, offset)
        found = await self._consumer.getmany(partition, timeout_ms=LOOK_FOR_MS, max_records=1)
        position: int = offset if found else await self._consumer.position(partition)
        self._consumer.unsubscribe()
        return position

    def _pass(self, read: Mapping[Any, int]) -> None:
        """Go on to the last look whose ends have all been reached."""
        for number, look in reversed(list(enumerate(self._looks))):
            if all(read.get(one, -1) >= end for one, end in look.ends.items()):
                self._until = look.at
                del self._looks[: number + 1]
                return

    async def _look(self, partitions: Sequence[Any]) -> None:
        at = self._clock()
        first, last = (self._looks[0].at, self._looks[-1].at) if self._looks else (at, at)
        if at - last < (last - first) / MOST_LOOKS:
            return  # The longer the backlog, the less a moment matters.
        self._looks.append(Look(at, await self._consumer.end_offsets(partitions)))
        if len(self._looks) > MOST_LOOKS:
            del self._looks[1::2]
