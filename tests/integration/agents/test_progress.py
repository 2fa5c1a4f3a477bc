"""How far input has been read, on a real broker: what is never given to anybody is passed over."""

import asyncio
import uuid

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from memstream.broker import Broker
from memstream.clock import now
from memstream.progress import InputProgress


@pytest.fixture
async def topic(kafka):
    name = f"progress-{uuid.uuid4()}"
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1)])
    await admin.close()
    return name


async def commit(kafka, group, partition, offset):
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, group_id=group, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([partition])
    await consumer.commit({partition: offset})
    await consumer.stop()


@pytest.mark.requirement("TR-2")
@pytest.mark.parametrize("transactions", [False, True])
async def test_the_end_of_a_partition_is_reached_with_its_last_message(kafka, topic, transactions):
    group, partition = f"group-{topic}", TopicPartition(topic, 0)
    named = {"transactional_id": topic} if transactions else {}
    async with AIOKafkaProducer(bootstrap_servers=kafka, **named) as producer:
        for number in range(2):
            if transactions:
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"%d" % number)
            else:
                await producer.send_and_wait(topic, b"%d" % number)
    async with InputProgress(Broker(kafka), group, [[topic]], now) as progress:
        for _ in range(3):
            assert await progress.read_until() is None, "nothing has been read"
        second = 2 if transactions else 1
        await commit(kafka, group, partition, second)
        for _ in range(3):
            assert await progress.read_until() is None, "the second has not been read"
        before = now()
        await commit(kafka, group, partition, second + 1)
        for _ in range(3):
            until = await progress.read_until()
            await asyncio.sleep(0.05)
        assert until is not None
        assert until >= before
