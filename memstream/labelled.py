"""Reads the stream of labelled trajectories, as any analytics team would."""

from collections.abc import AsyncIterator
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from memstream.embedded.process import PartError
from memstream.messenger import FETCH_MAX_WAIT_MS
from models import Trajectory
from topics import DecodeError, Topic, TopicNames, decode


async def labelled(
    broker: str, names: TopicNames, tenant_id: str | None = None, *, follow: bool = False
) -> AsyncIterator[Trajectory]:
    """Yield what is on the topic, of one tenant or all, and what comes then if told to follow."""
    topic = names.name(Topic.TRAJECTORIES)
    # Without a group it gets every partition, and nobody else's place in the stream is moved.
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
    )
    try:
        await consumer.start()
        partitions = list(consumer.assignment())
        if not partitions:
            raise PartError(f"there is no topic {topic}: is this the broker of a memstream?")
        await consumer.seek_to_beginning()
        ends = await consumer.end_offsets(partitions)
        while follow or await _is_behind(consumer, ends):
            batches = await consumer.getmany(timeout_ms=10 * FETCH_MAX_WAIT_MS)
            for message in (message for batch in batches.values() for message in batch):
                trajectory = _read(message.value)
                if trajectory and tenant_id in (None, trajectory.tenant_id):
                    yield trajectory
    except KafkaError as error:
        raise PartError(f"the broker at {broker} does not answer: {error!r}") from error
    finally:
        await consumer.stop()


async def _is_behind(consumer: Any, ends: dict[Any, int]) -> bool:
    for partition, end in ends.items():
        if await consumer.position(partition) < end:
            return True
    return False


def _read(value: bytes | None) -> Trajectory | None:
    try:
        return decode(Trajectory, value, max_bytes=None)
    except DecodeError:
        return None  # Not written by a memstream of this version.
