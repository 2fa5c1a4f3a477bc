"""How far input has been read, by all workers together.

Whoever publishes a signal chooses its partition in its own way (librdkafka hashes keys otherwise
than Java), so a signal may be on any partition and with any worker. What all of them have done is
known to the broker: offsets are committed after the transaction that a message led to.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from memstream.broker import Broker

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


class Stage:
    """Some topics, and the looks at their ends that have not been reached yet."""

    def __init__(self, topics: Sequence[str]) -> None:
        self.topics = topics
        self._looks: list[Look] = []

    @property
    def newest(self) -> Mapping[Any, int]:
        """Where its partitions ended at the newest look; nothing if there is none."""
        return self._looks[-1].ends if self._looks else {}

    def passed(self, read: Mapping[Any, int]) -> datetime | None:
        """Go on to the last look whose ends have all been reached, and return its moment."""
        for number, look in reversed(list(enumerate(self._looks))):
            if all(read.get(one, -1) >= end for one, end in look.ends.items()):
                del self._looks[: number + 1]
                moment: datetime = look.at
                return moment
        return None

    def remember(self, at: datetime, ends: Mapping[Any, int]) -> None:
        """Keep where partitions end, as what has to be read for a moment to be over."""
        first, last = (self._looks[0].at, self._looks[-1].at) if self._looks else (at, at)
        if at - last < (last - first) / MOST_LOOKS:
            return  # The longer the backlog, the less a moment matters.
        own = {one: end for one, end in ends.items() if one.topic in self.topics}
        self._looks.append(Look(at, own))
        if len(self._looks) > MOST_LOOKS:
            del self._looks[1::2]


class InputProgress:
    """Looks where partitions end, and from then on for the group to have got there.

    Topics are read in stages, as what is read in one may be written to the next: a moment is over
    once all has been read that the first had then, then all that the second had after that, and so
    on. Of other topics that the group reads it only tells how much is left to be read.
    """

    def __init__(
        self,
        broker: Broker,
        group: str,
        stages: Sequence[Sequence[str]],
        clock: Callable[[], datetime],
        others: Sequence[str] = (),
    ) -> None:
        self._broker = broker
        self._group = group
        self._stages = [Stage(topics) for topics in stages]
        self._topics = [*chain(*stages), *others]
        self._clock = clock
        self.lag: Mapping[str, int] = {}
        """For each topic, how many messages the group had still to read at the last look."""
        self._stack = AsyncExitStack()
        self._until: datetime | None = None
        self._markers: dict[Any, tuple[int, int, int]] = {}
        """For each partition, from where to where was looked for marks last, and where they end."""

    async def __aenter__(self) -> Self:
        # It has no group of its own: it only asks.
        self._consumer = AIOKafkaConsumer(
            **self._broker.options(), enable_auto_commit=False, auto_offset_reset="none"
        )
        self._stack.push_async_callback(self._consumer.stop)
        self._admin = AIOKafkaAdminClient(**self._broker.options())
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
            if not offsets.keys() >= {*partitions}:
                return self._until  # A broker that has just started does not know them all yet.
            beginnings = await self._consumer.beginning_offsets(partitions)
            # Where nothing was written, or all of it has been deleted since, nobody reads.
            read = {one: max(offsets[one].offset, beginnings[one]) for one in partitions}
            await self._skip_markers(read)
            at = self._clock()
            ends = await self._consumer.end_offsets(partitions)
            self._pass(read, at, ends)
            self._measure(read, ends)
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
        for one, end in chain(*(stage.newest.items() for stage in self._stages)):
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

    def _pass(self, read: Mapping[Any, int], at: datetime, ends: Mapping[Any, int]) -> None:
        """Let moments go on from stage to stage; the ends are as they were after the reading."""
        moment: datetime | None = at
        for stage in self._stages:
            over = stage.passed(read)
            if moment is not None:
                stage.remember(moment, ends)
            moment = over
        self._until = moment or self._until

    def _measure(self, read: Mapping[Any, int], ends: Mapping[Any, int]) -> None:
        lag = dict.fromkeys(self._topics, 0)
        for one, end in ends.items():
            lag[one.topic] += max(0, end - read[one])
        self.lag = lag
