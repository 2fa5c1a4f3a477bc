"""Talks to a running memstream as any other service would: through Kafka."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from memstream.embedded.process import PartError
from models import Item, SearchRequest, SearchResult
from topics import DecodeError, Topic, TopicNames, decode, encode, event_key

FETCH_MAX_WAIT_MS = 50
"""How long a broker may hold a fetch open when there is nothing to read.

A real broker answers as soon as something arrives, so there this only sets how often an idle
worker asks. The embedded one always waits to the end: with Faust's 1,500 ms a search took a
second and a half there.
"""

IN_FLIGHT = 500
"""How many messages may be on their way at once: enough to keep a broker busy, little memory."""


class Messenger:
    """Publishes requests and items, and reads results."""

    def __init__(self, broker: str, names: TopicNames, producer: Any) -> None:
        self._broker = broker
        self._names = names
        self._producer = producer

    @classmethod
    @asynccontextmanager
    async def connect(cls, broker: str, names: TopicNames) -> "AsyncIterator[Messenger]":
        """Connect to the broker for as long as the context lasts."""
        producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all", linger_ms=5)
        try:
            await producer.start()
            yield cls(broker, names, producer)
        except KafkaError as error:
            raise PartError(f"the broker at {broker} does not answer: {error!r}") from error
        finally:
            await producer.stop()

    async def ask(self, request: SearchRequest, timeout_s: float) -> SearchResult:
        """Publish a request and return its result."""
        consumer = AIOKafkaConsumer(
            self._names.name(Topic.SEARCH_RESULTS),
            bootstrap_servers=self._broker,
            auto_offset_reset="latest",
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
        )
        await consumer.start()
        try:
            # The end must be known before the request goes out, or the result could be missed.
            await consumer.seek_to_end()
            for partition in consumer.assignment():
                await consumer.position(partition)
            key = event_key(request.tenant_id, request.session_id)
            await self._send(Topic.SEARCH_REQUESTS, key, encode(request))
            async with asyncio.timeout(timeout_s):
                return await self._result(consumer, request.request_id)
        except TimeoutError:
            raise PartError(
                f"no result within {timeout_s:.0f} s: is a worker running? (memstream doctor)"
            ) from None
        finally:
            await consumer.stop()

    async def remember(self, items: Iterable[Item]) -> AsyncIterator[int]:
        """Publish items, yielding how many the broker has taken so far."""
        taken, in_flight = 0, []
        for item in items:
            in_flight.append(
                await self._producer.send(
                    self._names.name(Topic.ITEMS),
                    encode(item),
                    key=event_key(item.tenant_id, item.session_id),
                )
            )
            if len(in_flight) == IN_FLIGHT:
                taken += len(await asyncio.gather(*in_flight))
                in_flight.clear()
                yield taken
        yield taken + len(await asyncio.gather(*in_flight))

    async def _send(self, topic: Topic, key: bytes, value: bytes) -> None:
        await self._producer.send_and_wait(self._names.name(topic), value, key=key)

    async def _result(self, consumer: Any, request_id: str) -> SearchResult:
        async for message in consumer:
            try:
                result = decode(SearchResult, message.value, max_bytes=None)
            except DecodeError:
                continue  # Not written by a memstream of this version; certainly not our result.
            if result.request_id == request_id:
                return result
        raise PartError("the broker went away while waiting for the result")
