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

    async def __aenter__(self) -> Self:
        # It has no group of its own: it only asks.
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._broker)
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
            read = {partition: offsets[partition].offset for partition in offsets}
            self._pass(read, await self._consumer.beginning_offsets(partitions))
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

    def _pass(self, read: Mapping[Any, int], beginnings: Mapping[Any, int]) -> None:
        """Go on to the last look whose ends have all been reached."""
        for number, look in reversed(list(enumerate(self._looks))):
            if all(
                _reached(read.get(one, -1), end, beginnings[one]) for one, end in look.ends.items()
            ):
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


def _reached(read: int, end: int, beginning: int) -> bool:
    # Where nothing is left to read (nothing was written, or all of it has been deleted since)
    # nobody reads, and nobody tells.
    return max(read, beginning) >= end
