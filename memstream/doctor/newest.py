"""When the newest message on some topics was written, by the clock of whoever wrote it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from aiokafka import AIOKafkaConsumer
from memstream_client.listener import FETCH_MAX_WAIT_MS

from memstream.broker import MAX_MESSAGE_BYTES, Broker

PATIENCE_S = 1.0
"""Ends and messages are a few milliseconds away; one that is not there any more never comes."""


async def newest_at(broker: Broker, topics: Sequence[str]) -> datetime | None:
    """Return the latest of the last messages of all partitions, None if there are none."""
    # Without a group it gets every partition, and nobody else's place in the stream is moved.
    consumer = AIOKafkaConsumer(
        *topics,
        **broker.options(),
        enable_auto_commit=False,
        fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
        max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
    )
    try:
        await consumer.start()
        return await _newest(consumer)
    finally:
        await consumer.stop()


async def _newest(consumer: AIOKafkaConsumer) -> datetime | None:
    partitions = list(consumer.assignment())
    ends = await consumer.end_offsets(partitions)
    beginnings = await consumer.beginning_offsets(partitions)
    waiting = {one for one in partitions if ends[one] > beginnings[one]}
    for one in waiting:
        consumer.seek(one, ends[one] - 1)
    found = []
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while waiting and asyncio.get_running_loop().time() < deadline:
        batches = await consumer.getmany(*waiting, timeout_ms=10 * FETCH_MAX_WAIT_MS)
        for partition, messages in batches.items():
            found += [message.timestamp for message in messages]
            waiting.discard(partition)
    return datetime.fromtimestamp(max(found) / 1000, UTC) if found else None
