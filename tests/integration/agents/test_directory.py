"""Which topics there are, asked of a real Kafka."""

import asyncio
import uuid

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from memstream import directory
from memstream.broker import Broker
from memstream.directory import TopicDirectory


async def test_a_topic_that_does_not_exist_is_known_at_once_and_again_when_it_does(
    kafka, monkeypatch
):
    monkeypatch.setattr(directory, "FRESH_S", 0.5)
    topics, name = TopicDirectory(Broker(kafka)), f"replies-{uuid.uuid4()}"
    async with asyncio.timeout(30):
        assert not await topics.exists(name)
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
        await admin.start()
        await admin.create_topics([NewTopic(name, 1, 1)])
        await admin.close()
        while not await topics.exists(name):  # noqa: ASYNC110 — brokers send no event
            await asyncio.sleep(0.1)
    await topics.close()


async def test_while_nobody_can_say_a_topic_is_supposed_to_be_there():
    topics = TopicDirectory(Broker("127.0.0.1:1"))
    assert await topics.exists("any")
    await topics.close()
