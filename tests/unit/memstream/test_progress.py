"""How far input has been read: only what all workers have committed counts."""

from datetime import UTC, datetime, timedelta

import pytest

from memstream.broker import Broker as Address
from memstream.progress import MOST_LOOKS, InputProgress

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Broker:
    """Partitions with a beginning, an end, and what the group has committed."""

    def __init__(self, **partitions):
        self.partitions = partitions

    async def describe_topics(self, topics):
        known = [{"partition": number} for number in range(len(self.partitions))]
        return [{"topic": topic, "partitions": known} for topic in topics]

    async def list_consumer_group_offsets(self, group, partitions):
        return {one: Committed(self._of(one)[2]) for one in partitions}

    async def beginning_offsets(self, partitions):
        return {one: self._of(one)[0] for one in partitions}

    async def end_offsets(self, partitions):
        return {one: self._of(one)[1] for one in partitions}

    def assign(self, partitions):
        self.assigned = partitions

    def seek(self, partition, offset):
        self.sought = offset

    async def getmany(self, partition, **_):
        return {partition: ["a message"]}

    def unsubscribe(self):
        self.assigned = []

    def _of(self, partition):
        return list(self.partitions.values())[partition.partition]


class Committed:
    def __init__(self, offset):
        self.offset = offset


class Seconds:
    def __init__(self):
        self.passed = 0

    def __call__(self):
        self.passed += 1
        return NOON + timedelta(seconds=self.passed)


def progress(broker, *others):
    made = InputProgress(Address(""), "group", [["topic"]], Seconds(), others)
    made._admin = made._consumer = broker
    return made


@pytest.mark.requirement("OB-5")
async def test_what_is_left_to_be_read_is_told_of_every_topic():
    broker = Broker(a=(0, 5, 3), b=(4, 4, -1))
    read = progress(broker, "other")
    assert read.lag == {}
    await read.read_until()
    assert read.lag == {"topic": 2, "other": 2}
    broker.partitions["b"] = (4, 9, -1)
    await read.read_until()
    assert read.lag == {"topic": 7, "other": 7}
    broker.partitions.update(a=(0, 5, 5), b=(4, 9, 9))
    await read.read_until()
    assert read.lag == {"topic": 0, "other": 0}


async def test_other_topics_hold_up_no_deadline():
    class Behind(Broker):
        async def list_consumer_group_offsets(self, group, partitions):
            return {one: Committed(5 if one.topic == "topic" else 0) for one in partitions}

    read = progress(Behind(a=(0, 5, 5)), "other")
    assert await read.read_until() is None
    assert await read.read_until() == second(1)
    assert read.lag == {"topic": 0, "other": 5}


def second(number):
    return NOON + timedelta(seconds=number)


@pytest.mark.requirement("TR-2")
async def test_a_moment_counts_once_all_that_was_there_then_is_committed():
    broker = Broker(a=(0, 5, 3), b=(0, 0, -1))
    read = progress(broker)
    assert await read.read_until() is None
    assert await read.read_until() is None
    broker.partitions["a"] = (0, 9, 4)
    assert await read.read_until() is None
    # At 5 all has been read that the first two looks saw, but not what the third did.
    broker.partitions["a"] = (0, 9, 5)
    assert await read.read_until() == second(2)
    broker.partitions["b"] = (0, 1, -1)
    assert await read.read_until() == second(2)
    # What came to b is not read by anybody yet, so only looks before it count.
    broker.partitions["a"] = (0, 9, 9)
    assert await read.read_until() == second(4)
    broker.partitions["b"] = (0, 1, 1)
    assert await read.read_until() == second(6)


@pytest.mark.requirement("TR-2")
async def test_a_moment_is_over_once_what_it_led_to_has_been_read_as_well():
    class Stages(Broker):
        def _of(self, partition):
            return self.partitions[partition.topic]

        async def describe_topics(self, topics):
            return [{"topic": topic, "partitions": [{"partition": 0}]} for topic in topics]

    broker = Stages(requests=(0, 1, 0), decisions=(0, 0, -1))
    read = InputProgress(Address(""), "group", [["requests"], ["decisions"]], Seconds())
    read._admin = read._consumer = broker
    for _ in range(3):
        assert await read.read_until() is None, "the request has not been read"
    # Whoever read it wrote a decision before that was known.
    broker.partitions.update(requests=(0, 1, 1), decisions=(0, 1, -1))
    for _ in range(3):
        assert await read.read_until() is None, "its decision has not been read"
    broker.partitions["decisions"] = (0, 1, 1)
    assert await read.read_until() == second(5)
    assert await read.read_until() == second(6)


async def test_where_nothing_is_left_to_read_nobody_need_have_read():
    read = progress(Broker(a=(7, 7, -1), b=(0, 0, -1), c=(4, 4, 2)))
    assert await read.read_until() is None
    assert await read.read_until() == second(1)


async def test_a_topic_that_is_not_known_may_hold_anything():
    read = progress(Broker())
    for _ in range(3):
        assert await read.read_until() is None


async def test_a_long_backlog_takes_little_memory_and_is_passed_step_by_step():
    broker = Broker(a=(0, 0, -1))
    read = progress(broker)
    for end in range(1, 1000):
        broker.partitions["a"] = (0, end, 0)
        assert await read.read_until() is None
        assert len(read._stages[0]._looks) <= MOST_LOOKS
    broker.partitions["a"] = (0, 1000, 500)
    assert second(400) < await read.read_until() <= second(500)
    broker.partitions["a"] = (0, 1000, 1000)
    assert await read.read_until() >= second(950)
