"""Batches: everything is handled, in order, and acknowledged only once its batch is done."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.batches import handle_in_batches, handle_side_by_side
from memstream.clock import now


class Stream:
    """A stream of the shape Faust gives, that ends when its events do."""

    def __init__(self, count, timestamp=1_700_000_000.0):
        self.acked = []
        self.all_acked = asyncio.Event()
        self._events = [_event(offset, timestamp) for offset in range(count)]

    def noack(self):
        return self

    async def events(self):
        for event in self._events:
            yield event
        await asyncio.Event().wait()

    async def ack(self, event):
        self.acked.append(event.message.offset)
        if len(self.acked) == len(self._events):
            self.all_acked.set()


def _event(offset, timestamp):
    message = SimpleNamespace(
        topic="t", partition=0, offset=offset, key=b"k", value=b"v", headers=[], timestamp=timestamp
    )
    return SimpleNamespace(message=message)


async def _run(stream, handler, max_batch, done):
    task = asyncio.create_task(handle_in_batches(stream, handler, max_batch, now))
    await asyncio.wait({task, asyncio.create_task(done.wait())}, return_when="FIRST_COMPLETED")
    task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0]


@given(count=st.integers(1, 40), max_batch=st.integers(1, 10))
def test_everything_is_handled_once_in_order_and_then_acknowledged(count, max_batch):
    async def scenario():
        stream, handled = Stream(count), []

        async def handler(batch):
            assert len(batch) <= max_batch
            await asyncio.sleep(0)
            assert not set(stream.acked) & {delivery.offset for delivery in batch}
            handled.extend(delivery.offset for delivery in batch)

        await _run(stream, handler, max_batch, stream.all_acked)
        assert handled == stream.acked == list(range(count))

    asyncio.run(scenario())


async def test_a_batch_cut_off_in_the_middle_is_not_acknowledged():
    stream, started = Stream(3), asyncio.Event()

    async def handler(_):
        started.set()
        await asyncio.Event().wait()

    outcome = await _run(stream, handler, 10, started)
    assert isinstance(outcome, asyncio.CancelledError)
    assert stream.acked == []


async def test_a_handler_that_fails_ends_the_agent_loudly():
    async def handler(_):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await handle_in_batches(Stream(1), handler, 10, now)


@pytest.mark.parametrize("timestamp", [None, -0.001, 9e15])
async def test_a_timestamp_that_makes_no_sense_is_replaced(timestamp):
    seen, done = [], asyncio.Event()

    async def handler(batch):
        seen.extend(batch)
        done.set()

    before = now()
    await _run(Stream(1, timestamp), handler, 1, done)
    assert before <= seen[0].at <= now()


@given(count=st.integers(1, 40), in_flight=st.integers(1, 10))
def test_side_by_side_all_are_handled_and_acknowledged_in_order(count, in_flight):
    async def scenario():
        stream, running, most = Stream(count), set(), [0]

        async def handler(delivery):
            running.add(delivery.offset)
            most[0] = max(most[0], len(running))
            # The later they come, the earlier they are done.
            for _ in range(2 * (count - delivery.offset)):
                await asyncio.sleep(0)
            assert delivery.offset not in stream.acked
            running.discard(delivery.offset)

        task = asyncio.create_task(handle_side_by_side(stream, handler, in_flight, now))
        await stream.all_acked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert stream.acked == list(range(count))
        # One waits to be acknowledged and one to be queued, besides those in the queue.
        assert most[0] <= in_flight + 2

    asyncio.run(scenario())


async def test_side_by_side_one_that_takes_long_holds_up_no_other():
    stream, rest, release = Stream(5), asyncio.Event(), asyncio.Event()
    done = []

    async def handler(delivery):
        if delivery.offset == 0:
            await release.wait()
        done.append(delivery.offset)
        if len(done) == 4:
            rest.set()

    task = asyncio.create_task(handle_side_by_side(stream, handler, 8, now))
    await rest.wait()
    assert done == [1, 2, 3, 4]
    assert stream.acked == []
    release.set()
    await stream.all_acked.wait()
    assert stream.acked == [0, 1, 2, 3, 4]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_side_by_side_a_failure_ends_it_and_acknowledges_nothing_after_it():
    stream, cancelled = Stream(4), asyncio.Event()

    async def handler(delivery):
        if delivery.offset == 1:
            raise ZeroDivisionError
        if delivery.offset > 1:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    with pytest.raises(ZeroDivisionError):
        await handle_side_by_side(stream, handler, 8, now)
    assert stream.acked == [0]
    assert cancelled.is_set()
