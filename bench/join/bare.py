"""The limit: a loop over aiokafka that does the work and nothing else."""

import asyncio
import os
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.join.work import BATCH, TOPICS, Given, Work
from storage.joins import Message


async def run() -> None:
    """Poll, write, publish, commit, for ever."""
    broker = os.environ["MEMSTREAM_BROKER"].removeprefix("kafka://")
    work = await Work.open()
    topics = work.topics
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all", linger_ms=2)
    consumer = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=broker,
        group_id=work.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=20,
    )

    async def publish(messages: Sequence[Message]) -> Sequence[int]:
        sent = [await producer.send(one.topic, one.value, one.key) for one in messages]
        await asyncio.gather(*sent)
        return ()

    async with producer, consumer:
        while True:
            polled = await consumer.getmany(timeout_ms=100, max_records=len(TOPICS) * BATCH)
            given: dict[str, list[Given]] = {}
            for tp, records in polled.items():
                given.setdefault(tp.topic, []).extend(
                    Given(one.partition, one.offset, one.key, one.value, one.timestamp)
                    for one in records
                )
            for name, messages in given.items():
                await work.take(topics[name], messages)
            if given:
                await work.publish(publish)
                await consumer.commit()


if __name__ == "__main__":
    asyncio.run(run())
