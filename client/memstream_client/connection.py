"""The connection to a broker: publishes messages, and asks what is answered."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaProducer

from memstream_client.broker import Broker
from memstream_client.errors import MemstreamError, ResultTimeoutError
from memstream_client.listener import Listener
from memstream_client.messages import Message, Reply

IN_FLIGHT: Final = 500
"""How many messages may be on their way at once: enough to keep a broker busy, little memory."""

MIN_REQUEST_MS: Final = 1000

_NOT_TAKEN: Final = "did not take a message; has it the topic {}?"


class Connection:
    """A producer and, once something is asked, a listener for answers."""

    def __init__(self, broker: Broker, answers: Sequence[str]) -> None:
        self._broker = broker
        named = ", ".join(answers)
        self._unread = f"lets nobody read {named}; are they the topics of a memstream there?"
        self._listener = Listener(broker, answers)
        self._producer: Any = None

    async def open(self, timeout_s: float) -> None:
        """Connect to the broker."""
        producer = AIOKafkaProducer(
            **self._broker.options(),
            acks="all",
            linger_ms=2,
            # Closing waits so long for what a broker that went away has not taken.
            request_timeout_ms=max(int(1000 * timeout_s), MIN_REQUEST_MS),
        )
        try:
            async with self._broker.within(timeout_s, "does not answer"):
                await producer.start()
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer

    async def close(self) -> None:
        """Send what is still to be sent, and give up what is waited for."""
        await self._listener.stop()
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def send(self, message: Message, timeout_s: float) -> None:
        """Return once every in-sync replica has the message."""
        async with self._broker.within(timeout_s, _NOT_TAKEN.format(message.topic)):
            await (await self._sent(message))

    async def send_all(self, messages: Iterable[Message], timeout_s: float) -> AsyncIterator[int]:
        """Publish many, yielding how many the broker has taken so far."""
        taken, in_flight = 0, []
        for message in messages:
            async with self._broker.within(timeout_s, _NOT_TAKEN.format(message.topic)):
                in_flight.append(await self._sent(message))
                if len(in_flight) < IN_FLIGHT:
                    continue
                taken += len(await asyncio.gather(*in_flight))
            in_flight.clear()
            yield taken
        async with self._broker.within(timeout_s, "did not take all messages"):
            taken += len(await asyncio.gather(*in_flight))
        yield taken

    async def ask(self, request_id: str, message: Message, timeout_s: float) -> Reply:
        """Publish a request and return what is answered; any number may wait at once."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._opened()
        with self._listener.expecting(request_id) as answer:
            # Only once the end of the answers is known: else the answer might be before it.
            async with self._broker.within(timeout_s, self._unread):
                await self._listener.start()
            await self.send(message, deadline - loop.time())
            try:
                async with asyncio.timeout_at(deadline):
                    return await answer
            except TimeoutError:
                raise ResultTimeoutError(
                    f"no result within {timeout_s:g} s: is a memstream worker running that reads "
                    f"{message.topic} at {self._broker.address}?"
                ) from None

    def _opened(self) -> Any:
        if self._producer is None:
            raise MemstreamError("the client is not open: use `async with MemstreamClient(…)`")
        return self._producer

    async def _sent(self, message: Message) -> Any:
        return await self._opened().send(
            message.topic, message.value, key=message.key, headers=list(message.headers)
        )
