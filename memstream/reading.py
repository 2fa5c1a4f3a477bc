"""Reads a topic from its beginning, as any analytics team would."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from memstream_client.listener import FETCH_MAX_WAIT_MS

from memstream.broker import Broker
from memstream.embedded.process import PartError


async def messages(
    broker: Broker,
    topic: str,
    *,
    follow: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> AsyncIterator[Any]:
    """Yield what is on the topic, and what comes then if told to follow.

    Progress is how many messages were read, and of how many that were there at first.
    """
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
        ends = await consumer.end_offsets(partitions)
        begin = sum((await consumer.beginning_offsets(partitions)).values())
        while follow or await _is_behind(consumer, ends):
            batches = await consumer.getmany(timeout_ms=10 * FETCH_MAX_WAIT_MS)
            for partition, batch in batches.items():
                for message in batch:
                    if follow or message.offset < ends[partition]:
                        yield message
            if progress is not None:
                reached = [min(await consumer.position(one), end) for one, end in ends.items()]
                progress(sum(reached) - begin, sum(ends.values()) - begin)
    except KafkaError as error:
        raise await broker.failure(error) from error
    finally:
        await consumer.stop()


async def _is_behind(consumer: Any, ends: dict[Any, int]) -> bool:
    for partition, end in ends.items():
        if await consumer.position(partition) < end:
            return True
    return False
