"""Reads the stream of labelled trajectories, as any analytics team would."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from memstream_client.listener import FETCH_MAX_WAIT_MS

from memstream.broker import Broker
from memstream.embedded.process import PartError
from models import Trajectory
from topics import DecodeError, Topic, TopicNames, decode


class TrajectoryLog:
    """What the topic holds, each tenant's in the order in which it was written."""

    def __init__(self, consumer: Any, partitions: list[Any], since: datetime | None) -> None:
        self._consumer = consumer
        self._partitions = partitions
        self._since_ms = since.timestamp() * 1000 if since else 0.0
        self.unreadable = 0
        """How many messages were no trajectories of this version."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls, broker: Broker, names: TopicNames, since: datetime | None = None
    ) -> "AsyncIterator[TrajectoryLog]":
        """Read from the beginning, or only what was written since a moment."""
        topic = names.name(Topic.TRAJECTORIES)
        # Without a group it gets every partition, and nobody else's place in the stream is moved.
        consumer = AIOKafkaConsumer(
            topic,
            **broker.options(),
            auto_offset_reset="earliest",
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
        )
        try:
            await consumer.start()
            partitions = list(consumer.assignment())
            if not partitions:
                raise PartError(f"there is no topic {topic}: is this the broker of a memstream?")
            await consumer.seek_to_beginning()
            yield cls(consumer, partitions, since)
        except KafkaError as error:
            raise await broker.failure(error) from error
        finally:
            await consumer.stop()

    async def lost_its_beginning(self) -> bool:
        """Tell whether the broker has deleted what was written first."""
        beginnings = await self._consumer.beginning_offsets(self._partitions)
        return any(beginnings.values())

    async def read(self, *, follow: bool = False) -> AsyncIterator[Trajectory]:
        """Yield what was written and not read yet, and what comes then if told to follow."""
        ends = await self._consumer.end_offsets(self._partitions)
        while follow or await self._is_behind(ends):
            batches = await self._consumer.getmany(timeout_ms=10 * FETCH_MAX_WAIT_MS)
            for message in (message for batch in batches.values() for message in batch):
                if message.timestamp < self._since_ms:
                    continue
                trajectory = _read(message.value)
                if trajectory is None:
                    self.unreadable += 1
                else:
                    yield trajectory

    async def _is_behind(self, ends: dict[Any, int]) -> bool:
        for partition, end in ends.items():
            if await self._consumer.position(partition) < end:
                return True
        return False


async def labelled(
    broker: Broker, names: TopicNames, tenant_id: str | None = None, *, follow: bool = False
) -> AsyncIterator[Trajectory]:
    """Yield what is on the topic, of one tenant or all, and what comes then if told to follow."""
    async with TrajectoryLog.open(broker, names) as log:
        async for trajectory in log.read(follow=follow):
            if tenant_id in (None, trajectory.tenant_id):
                yield trajectory


def _read(value: bytes | None) -> Trajectory | None:
    try:
        return decode(Trajectory, value, own=True)
    except DecodeError:
        return None  # Not written by a memstream of this version.
