"""Batches: everything is handled, in order, and acknowledged only once its batch is done."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.batches import Pace, handle_in_batches, handle_side_by_side
from agents.precedence import Following, Leading
from memstream.clock import now


class Stream:
    """A stream of the shape Faust gives, that ends when its events do."""

    def __init__(self, count, timestamp=1_700_000_000.0, partitions=1):
        self.acked, self.taken, self.done = [], [], []
        self.all_acked = asyncio.Event()
        self.flowing, self.generation = True, 1
        self.channel = SimpleNamespace(queue=asyncio.Queue())
        self._count = count
        for offset in range(count):
            self.channel.queue.put_nowait(self._event(offset, timestamp, offset % partitions))

    @property
    def app(self):
        return SimpleNamespace(
            flow_control=SimpleNamespace(is_active=lambda: self.flowing),
            consumer_generation_id=self.generation,
            sensors=SimpleNamespace(
                on_message_in=lambda tp, offset, _: self.taken.append(offset),
                on_message_out=lambda tp, offset, _: self.done.append(offset),
            ),
        )

    def noack(self):
        return self

    async def events(self):
        while True:
            event = await self.channel.queue.get()
            self.taken.append(event.message.offset)
            yield event

    async def ack(self, event):
        event.ack()

    def _event(self, offset, timestamp, partition):
        message = SimpleNamespace(
            topic="t",
            partition=partition,
            tp=("t", partition),
            offset=offset,
            key=b"k",
            value=b"v",
            headers=[],
            timestamp=timestamp,
            timestamp_type=0,
            generation_id=1,
        )
        return SimpleNamespace(message=message, ack=lambda: self._acked(offset))

    def _acked(self, offset):
        self.acked.append(offset)
        if len(self.acked) == self._count:
            self.all_acked.set()
        return True


async def _run(stream, handler, max_batch, done, linger_s=0.0, lanes=1):
    pace = Pace(max_batch, linger_s, lanes)
    task = asyncio.create_task(handle_in_batches(stream, handler, pace, now))
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
        # Faust's own count of messages is right as well, whichever way they were taken.
        assert stream.taken == stream.done == list(range(count))

    asyncio.run(scenario())


@pytest.mark.parametrize(("linger_s", "expected"), [(0.05, [2]), (0.0, [1, 1])])
async def test_a_small_batch_may_wait_for_more(linger_s, expected):
    stream, sizes = Stream(2), []
    queue = stream.channel.queue
    first, second = queue.get_nowait(), queue.get_nowait()
    queue.put_nowait(first)
    asyncio.get_running_loop().call_later(0.001, queue.put_nowait, second)

    async def handler(batch):
        sizes.append(len(batch))

    await _run(stream, handler, 10, stream.all_acked, linger_s)
    assert sizes == expected


async def test_a_full_batch_does_not_wait():
    stream, sizes = Stream(6), []

    async def handler(batch):
        sizes.append(len(batch))

    await _run(stream, handler, 3, stream.all_acked, linger_s=3600.0)
    assert sizes == [3, 3]


async def test_a_batch_cut_off_in_the_middle_is_not_acknowledged():
    stream, started = Stream(3), asyncio.Event()

    async def handler(_):
        started.set()
        await asyncio.Event().wait()

    outcome = await _run(stream, handler, 10, started)
    assert isinstance(outcome, asyncio.CancelledError)
    assert stream.acked == []


@pytest.mark.parametrize("change", [{"flowing": False}, {"generation": 2}])
async def test_what_was_read_before_a_rebalance_is_left_to_whoever_has_it_now(change):
    stream, seen, done = Stream(3), [], asyncio.Event()

    async def handler(batch):
        seen.extend(delivery.offset for delivery in batch)
        done.set()

    vars(stream).update(change)
    await _run(stream, handler, 10, done)
    # The first came through Faust's own iterator, which looks by itself.
    assert seen == stream.acked == [0]


async def test_a_handler_that_fails_ends_the_agent_loudly():
    async def handler(_):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await handle_in_batches(Stream(1), handler, Pace(10), now)


async def test_partitions_of_a_batch_are_handled_at_the_same_time_and_acknowledged_together():
    stream, both = Stream(6, partitions=3), asyncio.Event()
    under_way = []

    async def handler(batch):
        assert stream.acked == []
        under_way.append([(delivery.partition, delivery.offset) for delivery in batch])
        if len(under_way) == 2:
            both.set()
        await both.wait()

    await _run(stream, handler, 10, stream.all_acked, lanes=2)
    # Partitions 0 and 2 share a lane; whatever is of one partition stays in order.
    assert under_way == [[(0, 0), (2, 2), (0, 3), (2, 5)], [(1, 1), (1, 4)]]
    assert stream.acked == list(range(6))


async def test_if_one_lane_fails_nothing_of_the_batch_is_acknowledged_and_the_other_ends():
    stream, ended = Stream(2, partitions=2), []

    async def handler(batch):
        if batch[0].partition == 1:
            raise RuntimeError("a bug")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(batch[0].partition)

    with pytest.raises(RuntimeError, match="a bug"):
        await handle_in_batches(stream, handler, Pace(10, lanes=2), now)
    assert stream.acked == []
    assert ended == [0]


class Followed:
    """A stream of searches and one of signals that follows it, both handled one by one."""

    def __init__(self, searches, signals):
        self.searches, self.signals = searches, signals
        self.order, self.go_on = [], asyncio.Event()
        self.leading = Leading()
        both = (
            (searches, self._search, self.leading),
            (signals, self._signal, Following(self.leading)),
        )
        self.tasks = [
            asyncio.create_task(handle_in_batches(stream, handler, Pace(1), now, turns))
            for stream, handler, turns in both
        ]

    async def _search(self, batch):
        await self.go_on.wait()
        for _ in range(10):  # As a store does, it lets others go on.
            await asyncio.sleep(0)
        self.order.append(("search", batch[0].offset))

    async def _signal(self, batch):
        self.order.append(("signal", batch[0].offset))

    async def end(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_signals_wait_for_searches_at_hand_that_were_written_before_them():
    both = Followed(Stream(3, timestamp=1.0), Stream(2, timestamp=2.0))
    await asyncio.sleep(0.01)
    assert both.order == []
    both.go_on.set()
    await both.signals.all_acked.wait()
    assert both.order == [*(("search", n) for n in range(3)), ("signal", 0), ("signal", 1)]
    await both.end()


async def test_signals_written_before_the_searches_at_hand_do_not_wait():
    both = Followed(Stream(3, timestamp=2.0), Stream(2, timestamp=1.0))
    await both.signals.all_acked.wait()
    assert both.order == [("signal", 0), ("signal", 1)]
    await both.end()


async def test_a_signal_from_the_far_future_waits_only_for_what_is_at_hand_when_it_comes():
    both = Followed(Stream(2, timestamp=1.0), Stream(1, timestamp=9e15))
    await asyncio.sleep(0.01)
    for offset in range(2, 40):
        both.searches.channel.queue.put_nowait(both.searches._event(offset, 1.0, 0))
    both.go_on.set()
    await both.signals.all_acked.wait()
    assert both.order.index(("signal", 0)) in (2, 3)
    await both.end()


async def test_what_a_rebalance_takes_away_is_not_waited_for():
    both = Followed(Stream(3, timestamp=1.0), Stream(1, timestamp=2.0))
    await asyncio.sleep(0.01)
    both.tasks[0].cancel()
    while not both.searches.channel.queue.empty():
        both.searches.channel.queue.get_nowait()
    await both.signals.all_acked.wait()
    assert both.order == [("signal", 0)]
    await both.end()


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
