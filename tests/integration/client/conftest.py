"""A broker with memstream's topics and, instead of a service, what a test wants it to answer."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from memstream_client import MemstreamClient

from memstream.embedded.broker import embedded_broker
from topics import TopicNames
from topics.names import topic_sizes

MEMORY = {
    "memory_id": "momo",
    "layer": "user",
    "scope": "global",
    "kind": "fact",
    "content": "her cat is called Momo",
    "score": 1.0,
    "similarity": None,
    "created_at": "2026-11-16T09:30:00Z",
    "metadata": {},
}


@pytest.fixture
async def broker(tmp_path):
    sizes = {**topic_sizes(TopicNames("test."), 2), "test.mine": 1}
    async with embedded_broker(tmp_path, sizes) as address:
        yield address


@pytest.fixture
async def client(broker):
    async with MemstreamClient(
        broker, tenant="acme", session="s", topic_prefix="test.", timeout=20
    ) as client:
        yield client


def found(request, **changed):
    """An answer to a search."""
    ids = {name: request[name] for name in ("request_id", "tenant_id", "session_id")}
    answer = {**ids, "status": "ok", "results": [MEMORY], "degraded": False, "error": None}
    return {**answer, "completed_at": "2026-11-16T09:30:00Z", **changed}


class Answering:
    """Reads what was published, and publishes answers."""

    def __init__(self, consumer, producer):
        self._consumer = consumer
        self._producer = producer
        self.read = []

    async def next(self):
        message = await self._consumer.getone()
        self.read.append(message)
        return message, json.loads(message.value)

    async def answer(self, value, headers=(), topic="test.search.results"):
        encoded = value if isinstance(value, bytes) else json.dumps(value).encode()
        await self._producer.send_and_wait(topic, encoded, key=b"k", headers=list(headers))


@pytest.fixture
async def answering(broker):
    @asynccontextmanager
    async def answering(topic="search.requests"):
        consumer = AIOKafkaConsumer(
            f"test.{topic}",
            bootstrap_servers=broker,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20,
        )
        producer = AIOKafkaProducer(bootstrap_servers=broker)
        async with consumer, producer, asyncio.timeout(60):
            await consumer.seek_to_beginning()
            yield Answering(consumer, producer)

    return answering
