"""A topic is followed only while somebody looks, and never from farther back than is kept."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from memstream.broker import Broker
from memstream.console.newest import Newest
from memstream.embedded.broker import embedded_broker


class Kept:
    def __init__(self):
        self.values = []
        self.behind = {}

    def begin(self, ends):
        self.values.clear()

    def take(self, message, behind):
        self.values.append(int(message.value))
        self.behind[int(message.value)] = behind


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 — whom it waits for tells nobody
            await asyncio.sleep(0.01)


async def test_it_reads_the_newest_goes_on_and_stops_when_nobody_looks(tmp_path):
    now, kept = [0.0], Kept()
    async with (
        embedded_broker(tmp_path, {"t": 2}) as address,
        AIOKafkaProducer(bootstrap_servers=address) as producer,
    ):

        async def publish(*numbers):
            for number in numbers:
                await producer.send_and_wait("t", str(number).encode(), partition=number % 2)

        await publish(*range(40))
        newest = Newest(Broker(address), ["t"], 5, [kept], clock=lambda: now[0])
        assert not newest.reading
        assert await newest.look() is None
        assert sorted(kept.values) == list(range(30, 40))
        assert (kept.behind[30], kept.behind[38], kept.behind[39]) == (4, 0, 0)
        await publish(40, 41)
        await until(lambda: len(kept.values) == 12)
        now[0] = 61.0
        await until(lambda: not newest.reading)
        await publish(*range(42, 62))
        assert len(kept.values) == 12
        assert await newest.look() is None
        assert sorted(kept.values) == list(range(52, 62))
        await newest.close()
        assert not newest.reading


@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_why_it_cannot_read_is_said_and_it_tries_again_when_somebody_looks(tmp_path):
    newest = Newest(Broker("127.0.0.1:1"), ["t"], 5, [Kept()])
    for _ in range(2):
        assert "127.0.0.1:1" in await newest.look()
        await until(lambda: not newest.reading)
    await newest.close()
