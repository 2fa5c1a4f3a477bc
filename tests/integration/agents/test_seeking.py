"""After a rebalance reading goes on where it was committed, on both brokers, whatever was read."""

import asyncio
import uuid
from collections import defaultdict

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from memstream.broker import Broker
from memstream.embedded.broker import embedded_broker
from memstream.stream import build_app

PARTITIONS = 3


@pytest.fixture(params=["embedded", "real"])
def running(request):
    """The address of the real broker, or None; it is not started inside a test's event loop."""
    return request.getfixturevalue("kafka") if request.param == "real" else None


@pytest.fixture
async def topic(running, tmp_path):
    """A topic on a broker of either kind, and where that is."""
    name = f"seeking-{uuid.uuid4()}"
    if running is None:
        async with embedded_broker(tmp_path, {name: PARTITIONS}) as address:
            yield address, name
        return
    admin = AIOKafkaAdminClient(bootstrap_servers=running)
    await admin.start()
    await admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    await admin.close()
    yield running, name


async def read(consumer, number):
    """Return the offsets of so many messages, by partition."""
    found = defaultdict(list)
    async with asyncio.timeout(30):
        while sum(map(len, found.values())) < number:
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                found[partition.partition] += [record.offset for record in records]
    return {partition: sorted(offsets) for partition, offsets in found.items()}


@pytest.mark.requirement("TR-2")
async def test_what_was_read_but_not_committed_is_read_again(topic, tmp_path):
    broker, name = topic
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        for partition in range(PARTITIONS):
            for number in range(3):
                await producer.send_and_wait(name, b"%d" % number, partition=partition)
    app = build_app(Broker(broker), "memory.", tmp_path, PARTITIONS)
    thread = app.consumer._thread
    options = {"group_id": f"group-{name}", "enable_auto_commit": False}
    async with AIOKafkaConsumer(
        name, bootstrap_servers=broker, auto_offset_reset="earliest", **options
    ) as thread._consumer:
        everything = {partition: [0, 1, 2] for partition in range(PARTITIONS)}
        assert await read(thread._consumer, 9) == everything
        # Of one all but the last is done, of one nothing but its beginning, and of one nothing.
        await thread._consumer.commit({TopicPartition(name, 0): 2, TopicPartition(name, 1): 0})
        committed = await thread._seek_to_committed()
        assert {one.partition: offset for one, offset in committed.items()} == {0: 2, 1: 0, 2: None}
        assert await read(thread._consumer, 7) == everything | {0: [2]}
    thread.thread_loop.close()
