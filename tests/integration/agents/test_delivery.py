"""Faust with our batches on a real protocol: what was not finished comes again."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from agents.registry import register
from memstream.broker import Broker
from memstream.clock import now
from memstream.embedded.broker import embedded_broker
from memstream.embedded.process import PartError
from memstream.stream import build_app
from memstream.worker import run_app
from topics import Topic, TopicNames, topic_sizes

NAMES = TopicNames("test.")
MESSAGES = 30
PARTITIONS = 2


@pytest.fixture
async def broker(tmp_path):
    async with embedded_broker(tmp_path, topic_sizes(NAMES, PARTITIONS)) as address:
        async with AIOKafkaProducer(bootstrap_servers=address) as producer:
            for number in range(MESSAGES):
                key = f"t/{number % 5}".encode()
                await producer.send_and_wait("test.items", str(number).encode(), key=key)
        yield address


@pytest.fixture
def run(broker, tmp_path):
    async def run(handler, stopped, *, side_by_side=False):
        app = build_app(Broker(broker), "test.", tmp_path, PARTITIONS)
        handlers = {Topic.ITEMS: handler}
        register(app, NAMES, *([{}, handlers] if side_by_side else [handlers, {}]), now)
        async with asyncio.timeout(60):
            await run_app(app, stopped)

    return run


class Collector:
    """A handler that remembers what it handled and stops the app once it has seen enough."""

    def __init__(self, enough):
        self.numbers = []
        self.stopped = asyncio.Event()
        self._enough = enough

    async def __call__(self, batch):
        self.numbers += [int(delivery.value) for delivery in batch]
        if len(set(self.numbers)) >= self._enough:
            self.stopped.set()


async def test_everything_arrives_in_order_within_a_key(run):
    collector = Collector(MESSAGES)
    await run(collector, collector.stopped)
    for key in range(5):
        mine = [number for number in collector.numbers if number % 5 == key]
        assert mine == sorted(mine)
    assert sorted(collector.numbers) == list(range(MESSAGES))


async def test_a_handler_that_fails_ends_the_app_and_its_batch_comes_again(run):
    failed = []

    async def failing(batch):
        failed.extend(int(delivery.value) for delivery in batch)
        raise RuntimeError("the broker refuses to take the answer")

    with pytest.raises(PartError, match="the broker refuses"):
        await run(failing, asyncio.Event())
    collector = Collector(MESSAGES)
    await run(collector, collector.stopped)
    assert set(failed) <= set(collector.numbers)
    assert set(collector.numbers) == set(range(MESSAGES))


async def test_a_batch_in_hand_at_a_clean_stop_comes_again(run):
    stopped, in_hand = asyncio.Event(), []

    async def slow(batch):
        in_hand.extend(int(delivery.value) for delivery in batch)
        stopped.set()
        await asyncio.Event().wait()

    await run(slow, stopped)
    assert in_hand
    collector = Collector(MESSAGES)
    await run(collector, collector.stopped)
    assert set(collector.numbers) == set(range(MESSAGES))


async def test_what_was_finished_before_a_clean_stop_does_not_come_again(run, broker):
    first = Collector(MESSAGES)
    await run(first, first.stopped)
    # One new message at the end of each partition: whatever came again would come before it.
    new = list(range(MESSAGES, MESSAGES + PARTITIONS))
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        for partition, number in enumerate(new):
            await producer.send_and_wait(
                "test.items", str(number).encode(), key=b"t/new", partition=partition
            )
    second = Collector(len(new))
    await run(second, second.stopped)
    assert sorted(second.numbers) == new


async def test_side_by_side_what_is_under_way_at_a_clean_stop_comes_again(run):
    stopped, done, under_way = asyncio.Event(), [], []

    async def some_are_slow(delivery):
        number = int(delivery.value)
        under_way.append(number)
        if number % 3 == 0:
            if len(under_way) == MESSAGES:
                stopped.set()
            await asyncio.Event().wait()
        done.append(number)
        if len(under_way) == MESSAGES:
            stopped.set()

    await run(some_are_slow, stopped, side_by_side=True)
    slow = {number for number in range(MESSAGES) if number % 3 == 0}
    # Nobody waited for the slow ones.
    assert set(done) == set(range(MESSAGES)) - slow
    again, all_again = set(), asyncio.Event()

    async def collect(batch):
        again.update(int(delivery.value) for delivery in batch)
        if again >= slow:
            all_again.set()

    await run(collect, all_again)
