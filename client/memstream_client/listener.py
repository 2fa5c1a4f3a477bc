"""Reads answers, and brings each to who waits for it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from memstream_client.broker import Broker
from memstream_client.errors import BrokerError, MemstreamError
from memstream_client.messages import Reply, request_of

FETCH_MAX_WAIT_MS: Final = 20
"""How long a broker may hold a fetch open when there is nothing to read.

A real broker answers as soon as something arrives, so there this only sets how often an idle
reader asks. The embedded one always waits to the end: with 1,500 ms a search took a second and a
half there. An idle reader takes 1.4 % of a core at 50 ms, 2.4 % at 20, 4 % at 10.
"""

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Large enough to read whatever memstream can publish."""


class Listener:
    """A consumer of the topics that answers come on, from their end."""

    def __init__(self, broker: Broker, topics: Sequence[str]) -> None:
        self._broker = broker
        self._topics = topics
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._starting = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None

    @contextmanager
    def expecting(self, request_id: str) -> "Iterator[asyncio.Future[Reply]]":
        """Wait for the answer to a request, as long as the context lasts."""
        if request_id in self._waiting:
            raise MemstreamError(f"the request {request_id} is waiting for its answer already")
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            yield answer
        finally:
            del self._waiting[request_id]
            if answer.done() and not answer.cancelled():
                answer.exception()  # Nobody looks at it if the request could not be sent.

    async def start(self) -> None:
        """Return once whatever is answered from now on will be read."""
        async with self._starting:
            if self._reading is not None and not self._reading.done():
                return
            # Without a group it gets every partition, and nobody else's place is moved.
            consumer = AIOKafkaConsumer(
                *self._topics,
                **self._broker.options(),
                auto_offset_reset="latest",
                fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
                max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
            )
            try:
                await consumer.start()
                if not await consumer.seek_to_end():
                    raise BrokerError(f"the broker at {self._broker.address} tells no offsets")
            except BaseException:
                await consumer.stop()
                raise
            self._reading = asyncio.create_task(self._read(consumer))

    async def stop(self) -> None:
        """Give up what is waited for."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, consumer: Any) -> None:
        told: MemstreamError = MemstreamError("the client was closed before an answer came")
        try:
            async for message in consumer:
                self._deliver(message)
        except KafkaError as error:
            told = BrokerError(f"answers cannot be read from {self._broker.address}: {error!r}")
        finally:
            # Whoever asks next starts it anew.
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(told)
            await consumer.stop()

    def _deliver(self, message: Any) -> None:
        correlation_id = (dict(message.headers).get("correlation-id") or b"").decode(
            errors="replace"
        )
        reply = Reply(message.value or b"", correlation_id or None)
        answer = self._waiting.get(request_of(reply) or "")
        # Answers are delivered at least once: the second finds nobody waiting.
        if answer is not None and not answer.done():
            answer.set_result(reply)
