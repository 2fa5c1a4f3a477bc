"""Hands a stream to a handler in batches, and acknowledges a batch only once it is done.

Faust's own ``take`` acknowledges what it buffered even when the handler is cancelled in the
middle, so a clean stop or a rebalance would lose messages; and acknowledging out of order can
commit past a message in flight. Here nothing is acknowledged before its whole batch is handled,
batches are handled one after the other, and a message that was never acknowledged comes again.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agents.delivery import Clock, Delivery, Handler, OneByOne
from agents.precedence import AtOnce, Turns

ENOUGH = 32
"""So many are worth a transaction; a batch of fewer waits for more, if it may."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a stream is cut into batches."""

    max_batch: int
    linger_s: float = 0.0
    """So long a small batch waits for more; where somebody waits, not at all."""
    lanes: int = 1
    """Into so many parts a batch is cut by partition, which are handled at the same time."""


async def handle_in_batches(
    stream: Any, handler: Handler, pace: Pace, clock: Clock, turns: Turns | None = None
) -> None:
    """Feed the stream to the handler for as long as the stream lasts.

    A batch is whatever arrived while the one before it was being handled: an idle stream adds
    no delay, a busy one makes large batches. Where nobody waits, more may be waited for.
    """
    turns = turns or AtOnce()
    stream = stream.noack()
    queue = stream.channel.queue
    async for first in stream.events():
        if pace.linger_s and queue.qsize() < min(ENOUGH, pace.max_batch) - 1:
            await asyncio.sleep(pace.linger_s)
        events = [first, *_waiting(stream, pace.max_batch - 1)]
        async with turns.turn(events, queue):
            batch = [_delivery(event.message, clock) for event in events]
            await _in_lanes(batch, handler, pace.lanes)
        for event in events:
            if event.ack():
                message = event.message
                stream.app.sensors.on_message_out(message.tp, message.offset, message)


async def _in_lanes(batch: Sequence[Delivery], handler: Handler, lanes: int) -> None:
    """Handle a batch, the messages of each partition together and in order.

    While the store works for one lane, the next is read.
    """
    parts: dict[int, list[Delivery]] = {}
    for delivery in batch:
        parts.setdefault(delivery.partition % lanes, []).append(delivery)
    if len(parts) == 1:
        await handler(batch)
        return
    tasks = [asyncio.ensure_future(handler(part)) for part in parts.values()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _waiting(stream: Any, most: int) -> Iterator[Any]:
    """Take what else has arrived, past Faust's iterator, which goes round the loop for each."""
    queue, app = stream.channel.queue, stream.app
    for _ in range(min(most, queue.qsize())):
        event = queue.get_nowait()
        message = event.message
        # As the iterator does: what was read before a rebalance is somebody else's by now.
        if app.flow_control.is_active() and (message.generation_id == app.consumer_generation_id):
            app.sensors.on_message_in(message.tp, message.offset, message)
            yield event


async def handle_side_by_side(stream: Any, handler: OneByOne, in_flight: int, clock: Clock) -> None:
    """Feed the stream to the handler, so many messages at a time, for as long as it lasts.

    For messages that take long and wait for others: none waits for the one before it. They are
    acknowledged in the order in which they came, each once it and all before it are done.
    """
    under_way: asyncio.Queue[tuple[Any, asyncio.Task[None]]] = asyncio.Queue(in_flight)
    reading = asyncio.create_task(_start(stream, under_way, handler, clock))
    finishing = asyncio.create_task(_finish(stream, under_way))
    try:
        await asyncio.wait({reading, finishing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, finishing):
            if task.done():
                task.result()
    finally:
        left = [reading, finishing]
        while not under_way.empty():
            left.append(under_way.get_nowait()[1])
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _start(
    stream: Any,
    under_way: "asyncio.Queue[tuple[Any, asyncio.Task[None]]]",
    handler: OneByOne,
    clock: Clock,
) -> None:
    async for event in stream.noack().events():
        task = asyncio.create_task(_one(handler, _delivery(event.message, clock)))
        try:
            await under_way.put((event, task))
        except asyncio.CancelledError:
            task.cancel()
            raise


async def _one(handler: OneByOne, delivery: Delivery) -> None:
    await handler(delivery)


async def _finish(stream: Any, under_way: "asyncio.Queue[tuple[Any, asyncio.Task[None]]]") -> None:
    while True:
        event, task = await under_way.get()
        try:
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        await stream.ack(event)


LOG_APPEND_TIME = 1
"""How Kafka marks a timestamp that the broker has set."""


def _delivery(message: Any, clock: Clock) -> Delivery:
    return Delivery(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=message.headers,
        at=_written_at(message.timestamp) or clock(),
        by_broker=message.timestamp_type == LOG_APPEND_TIME,
    )


def _written_at(timestamp: float | None) -> datetime | None:
    """Read a producer's timestamp; nothing stops one from sending none, or the year 300,000."""
    try:
        return datetime.fromtimestamp(timestamp, UTC) if timestamp and timestamp > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
