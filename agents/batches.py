"""Hands a stream to a handler in batches, and acknowledges a batch only once it is done.

Faust's own ``take`` acknowledges what it buffered even when the handler is cancelled in the
middle, so a clean stop or a rebalance would lose messages; and acknowledging out of order can
commit past a message in flight. Here nothing is acknowledged before its whole batch is handled,
batches are handled one after the other, and a message that was never acknowledged comes again.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from agents.delivery import Clock, Delivery, Handler, OneByOne


async def handle_in_batches(stream: Any, handler: Handler, max_batch: int, clock: Clock) -> None:
    """Feed the stream to the handler for as long as the stream lasts.

    A batch is whatever arrived while the one before it was being handled: an idle stream adds
    no delay, a busy one makes large batches.
    """
    waiting: asyncio.Queue[Any] = asyncio.Queue(max_batch)
    reading = asyncio.create_task(_read(stream, waiting))
    handling = asyncio.create_task(_handle(stream, waiting, handler, max_batch, clock))
    try:
        await asyncio.wait({reading, handling}, return_when=asyncio.FIRST_COMPLETED)
        # Neither ends by itself: a failure must end the agent, and so the worker, loudly.
        for task in (reading, handling):
            if task.done():
                task.result()
    finally:
        for task in (reading, handling):
            task.cancel()
        await asyncio.gather(reading, handling, return_exceptions=True)


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


async def _read(stream: Any, waiting: "asyncio.Queue[Any]") -> None:
    async for event in stream.noack().events():
        await waiting.put(event)


async def _handle(
    stream: Any, waiting: "asyncio.Queue[Any]", handler: Handler, max_batch: int, clock: Clock
) -> None:
    async for events in _batches(waiting, max_batch):
        await handler([_delivery(event.message, clock) for event in events])
        for event in events:
            await stream.ack(event)


async def _batches(waiting: "asyncio.Queue[Any]", max_batch: int) -> AsyncIterator[list[Any]]:
    while True:
        batch = [await waiting.get()]
        while len(batch) < max_batch and not waiting.empty():
            batch.append(waiting.get_nowait())
        yield batch


def _delivery(message: Any, clock: Clock) -> Delivery:
    return Delivery(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=message.headers,
        at=_written_at(message.timestamp) or clock(),
    )


def _written_at(timestamp: float | None) -> datetime | None:
    """Read a producer's timestamp; nothing stops one from sending none, or the year 300,000."""
    try:
        return datetime.fromtimestamp(timestamp, UTC) if timestamp and timestamp > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
