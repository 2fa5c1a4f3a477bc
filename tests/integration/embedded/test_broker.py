"""The embedded broker: any Kafka client can use it, and its limits are the documented ones."""

import asyncio
import socket

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from memstream.broker import Broker
from memstream.embedded.broker import WELL_KNOWN_PORT, embedded_broker
from memstream.topology import ensure_topics, topic_states
from topics import TopicNames, topic_sizes

NAMES = TopicNames("test.")


async def test_topics_have_the_partitions_asked_for(tmp_path):
    async with embedded_broker(tmp_path, topic_sizes(NAMES, 7)) as address:
        broker = Broker(address)
        await ensure_topics(broker, NAMES, 7)
        states = {state.name: state.partitions for state in await topic_states(broker, NAMES)}
    assert states["test.search.requests"] == 7
    assert all(states.values())


async def test_what_is_produced_can_be_consumed_in_order(tmp_path):
    async with (
        embedded_broker(tmp_path, {"t": 1}) as address,
        AIOKafkaProducer(bootstrap_servers=address) as producer,
    ):
        for n in range(100):
            await producer.send("t", str(n).encode(), key=b"k", headers=[("h", b"\x00")])
        await producer.flush()
        consumer = AIOKafkaConsumer(
            "t", bootstrap_servers=address, group_id="g", auto_offset_reset="earliest"
        )
        async with consumer, asyncio.timeout(20):
            read = [await consumer.getone() for _ in range(100)]
    assert [int(message.value) for message in read] == list(range(100))
    assert read[0].headers == (("h", b"\x00"),)


@pytest.mark.alone  # other tests' brokers come and go on the same ports
async def test_the_next_port_is_taken_when_the_well_known_one_is_not_free(tmp_path):
    async with (
        embedded_broker(tmp_path / "one", {"t": 1}) as one,
        embedded_broker(tmp_path / "two", {"t": 1}) as two,
    ):
        ports = [int(address.rpartition(":")[2]) for address in (one, two)]
    assert WELL_KNOWN_PORT <= ports[0] < ports[1]


@pytest.mark.alone  # or another test's broker may listen there by then
async def test_nothing_listens_after_it_stopped(tmp_path):
    async with embedded_broker(tmp_path, {"t": 1}) as address:
        host, _, port = address.partition(":")
        socket.create_connection((host, int(port))).close()
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
    assert not (tmp_path / "broker.json").exists()
