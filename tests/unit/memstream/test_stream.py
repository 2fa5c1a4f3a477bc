"""The Faust application: what is set beside its settings really is set."""

import asyncio

import pytest
from faust.types import TP
from memstream_client.listener import FETCH_MAX_WAIT_MS

from memstream.broker import Broker
from memstream.stream import build_app
from memstream.transport import StreamConsumer, UnhurriedAssignor


@pytest.fixture
def app(tmp_path):
    return build_app(Broker("127.0.0.1:1,127.0.0.1:2"), "memory.", tmp_path, 4)


@pytest.fixture
async def consumer(app):
    yield app.consumer
    app.consumer._thread.thread_loop.close()


async def test_its_consumer_is_ours_with_our_fetch_wait_and_assignor(app):
    consumer = app.consumer
    assert isinstance(consumer, StreamConsumer)
    inner = consumer._thread._create_worker_consumer(app.transport)
    assert inner._fetch_max_wait_ms == FETCH_MAX_WAIT_MS
    assert inner._partition_assignment_strategy == [UnhurriedAssignor]
    assert inner._client._bootstrap_servers == ["127.0.0.1:1", "127.0.0.1:2"]
    assert not consumer.has_left_group()
    await inner.stop()
    consumer._thread.thread_loop.close()


async def test_nothing_of_its_inside_is_served_over_http(app):
    assert app.conf.web_enabled is False


async def test_workers_of_other_prefixes_are_another_group(app, tmp_path):
    assert app.conf.id != build_app(Broker("127.0.0.1:1"), "test.", tmp_path, 4).conf.id


@pytest.mark.parametrize("waits", [False, True])
async def test_a_message_is_handed_on_at_once_unless_it_has_to_wait(consumer, waits):
    room, tasks = asyncio.Event(), []

    async def hand_on():
        if waits:
            await room.wait()
            await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return "handed on"

    if waits:
        asyncio.get_running_loop().call_soon(room.set)
    found = await consumer.wait_first(hand_on(), asyncio.Event().wait())
    assert found.results == ["handed on"]
    assert (tasks == [asyncio.current_task()]) is not waits


async def test_a_message_that_waits_for_room_is_dropped_when_a_rebalance_begins(consumer):
    cleaned_up, suspended = [], asyncio.Event()

    async def hand_on():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned_up.append(True)

    asyncio.get_running_loop().call_soon(suspended.set)
    await consumer.wait_first(hand_on(), suspended.wait())
    await asyncio.sleep(0.01)
    assert cleaned_up == [True]


async def test_a_message_that_cannot_be_handed_on_ends_the_consumer(consumer):
    async def hand_on():
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await consumer.wait_first(hand_on(), asyncio.Event().wait())


class Read:
    """A message as far as acknowledging goes."""

    def __init__(self, tp, offset):
        self.tp, self.topic, self.offset, self.acked = tp, tp.topic, offset, False


async def nothing(*_):
    return None


async def test_what_a_rebalance_kept_from_being_committed_is_committed_once_read_again(
    app, consumer, monkeypatch
):
    tp = TP("memory.feedback", 0)
    monkeypatch.setattr(consumer, "assignment", lambda: {tp})
    monkeypatch.setattr(consumer, "_on_partitions_revoked", nothing)
    monkeypatch.setattr(app.topics, "acks_enabled_for", lambda _: True)
    monkeypatch.setattr(type(app.producer), "flush", nothing)
    begun = 10

    async def begin_there():
        return {tp: begun}

    async def refuse(_):
        # While the commit is under way, the group is dealt out anew and read from where it was.
        await consumer.on_partitions_revoked({tp})
        await consumer.perform_seek()
        return False

    committed = []

    async def take(offsets):
        committed.append(offsets)
        return True

    monkeypatch.setattr(consumer, "seek_to_committed", begin_there)
    await consumer.perform_seek()
    for commit, done in ((refuse, False), (take, True), (take, False)):
        monkeypatch.setattr(consumer, "_commit", commit)
        for offset in (10, 11):
            consumer.ack(Read(tp, offset))
        assert await consumer.commit() is done
    assert committed == [{tp: 12}]
    consumer.ack(Read(tp, 12))
    await consumer.commit()
    assert committed == [{tp: 12}, {tp: 13}]
