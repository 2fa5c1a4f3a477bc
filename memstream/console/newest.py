"""Follows topics from their newest messages on, for as long as somebody looks."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from memstream_client.listener import FETCH_MAX_WAIT_MS

from memstream.broker import Broker
from memstream.embedded.process import PartError

log = structlog.get_logger(__name__)

IDLE_S = 60.0
"""So long after the last look it stops reading: an unwatched worker spends nothing on this."""

PATIENCE_S = 5.0
"""So long a look waits for what is there already; then it is told what was read until then."""

BATCH = 50
"""So many messages are taken between two turns of the event loop, which also serves searches."""


class Taker(Protocol):
    """Keeps what it is given, as much of it as it has room for."""

    def begin(self, ends: Mapping[Any, int]) -> None:
        """Hear that reading begins anew, and where each partition ends now."""

    def take(self, message: Any, behind: int) -> None:
        """Take one message in; when reading began, so many of its partition came after it."""


class Newest:
    """Reads the last messages of each partition, and what comes then."""

    def __init__(
        self,
        broker: Broker,
        topics: Sequence[str],
        most: int,
        takers: Sequence[Taker],
        clock: Callable[[], float] = time.monotonic,
        idle_s: float = IDLE_S,
    ) -> None:
        self._broker = broker
        self._topics = topics
        self._most = most
        self._takers = takers
        self._clock = clock
        self._idle_s = idle_s
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None
        self._read = asyncio.Event()
        self._why: str | None = None

    @property
    def _named(self) -> str:
        first, *others = self._topics
        return f"{first} (and {len(others)} more)" if others else first

    @property
    def reading(self) -> bool:
        """Whether it reads."""
        return self._task is not None and not self._task.done()

    def begin(self) -> None:
        """Begin to read, as somebody will look soon."""
        self._looked = self._clock()
        if not self.reading:
            self._read.clear()
            self._why = None
            self._task = asyncio.create_task(self._follow())

    async def look(self) -> str | None:
        """Read what there is and go on for a while; return why it cannot, if so."""
        self.begin()
        try:
            await asyncio.wait_for(self._read.wait(), PATIENCE_S)
        except TimeoutError:
            return f"{self._named} is still being read"
        return self._why

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        consumer = AIOKafkaConsumer(
            *self._topics,
            **self._broker.options(),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
        )
        try:
            await consumer.start()
            await self._read_from(consumer)
        except KafkaError as error:
            self._why = str(await self._broker.failure(error))
        except PartError as error:
            self._why = str(error)
        except Exception as error:
            log.exception("console cannot read", topic=self._named)
            self._why = f"{self._named} could not be read: {error!r}"
        finally:
            self._read.set()
            await consumer.stop()

    async def _read_from(self, consumer: Any) -> None:
        partitions = list(consumer.assignment())
        for topic in self._topics:
            if not any(one.topic == topic for one in partitions):
                raise PartError(f"there is no topic {topic}: is this the broker of a memstream?")
        ends = await consumer.end_offsets(partitions)
        for taker in self._takers:
            taker.begin(ends)
        beginnings = await consumer.beginning_offsets(partitions)
        for one in partitions:
            consumer.seek(one, max(beginnings[one], ends[one] - self._most))
        while self._clock() - self._looked < self._idle_s:
            if not self._read.is_set() and await _reached(consumer, ends):
                self._read.set()
            batches = await consumer.getmany(timeout_ms=10 * FETCH_MAX_WAIT_MS, max_records=BATCH)
            for one, batch in batches.items():
                for message in batch:
                    for taker in self._takers:
                        taker.take(message, ends[one] - message.offset - 1)
                await self._skip(consumer, one)

    async def _skip(self, consumer: Any, partition: Any) -> None:
        """Leave out what would be forgotten at once, rather than fall behind."""
        end = consumer.highwater(partition)
        if end is not None and end - await consumer.position(partition) > self._most:
            consumer.seek(partition, end - self._most)


async def _reached(consumer: Any, ends: dict[Any, int]) -> bool:
    for partition, end in ends.items():
        if await consumer.position(partition) < end:
            return False
    return True
