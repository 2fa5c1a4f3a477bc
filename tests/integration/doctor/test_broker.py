"""`memstream doctor` with a broker that is away, another program, or without our topics."""

import time
from datetime import timedelta

from aiokafka import AIOKafkaProducer

from memstream.broker import Broker
from memstream.clock import now
from memstream.topology import ensure_topics
from tests.acceptance.service import free_port
from tests.examined import examined
from tests.language_model import local_language_model
from topics import Topic, TopicNames


async def test_a_broker_that_is_away_is_told(monkeypatch, tmp_path):
    port = free_port()
    report = await examined(monkeypatch, tmp_path, broker=f"kafka://127.0.0.1:{port}")
    assert report.failed == ["broker"]
    assert f"127.0.0.1:{port} cannot be reached" in report.of("broker")
    assert report.of("broker").endswith("start it, or correct MEMSTREAM_BROKER")


async def test_something_else_on_the_port_is_told(monkeypatch, tmp_path):
    async with local_language_model() as other:
        place = other.url.removeprefix("http://")
        report = await examined(monkeypatch, tmp_path, broker=f"kafka://{place}")
    assert report.failed == ["broker"]
    assert f"what listens at {place} does not answer as Kafka does" in report.of("broker")


async def test_topics_that_are_missing_are_told_and_then_those_of_another_size(
    monkeypatch, tmp_path, kafka
):
    names = TopicNames("doctor.")
    ours = {"broker": f"kafka://{kafka}", "topic_prefix": names.prefix}
    report = await examined(monkeypatch, tmp_path, **ours)
    assert report.failed == ["topics"]
    assert "doctor.items" in report.of("topics")
    assert report.of("topics").endswith("run `memstream topics --create`")
    await ensure_topics(Broker(kafka), names, 2)
    report = await examined(monkeypatch, tmp_path, **ours)
    assert report.failed == []
    assert report.of("topics").startswith("warn  topics: not 4 partitions")
    assert "doctor.items has 2" in report.of("topics")
    report = await examined(monkeypatch, tmp_path, partitions=2, **ours)
    assert report.of("topics").startswith("ok  ")
    assert "nothing to compare it with yet" in report.of("clock")


async def test_messages_from_the_future_are_told(monkeypatch, tmp_path, kafka):
    names = TopicNames("doctor-clock.")
    await ensure_topics(Broker(kafka), names, 1)
    ours = {"broker": f"kafka://{kafka}", "topic_prefix": names.prefix, "partitions": 1}
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        await producer.send_and_wait(names.name(Topic.ITEMS), b"{}")
        report = await examined(monkeypatch, tmp_path, **ours)
        assert report.of("clock") == "ok    clock: nothing on the broker is from the future"
        later = round((time.time() + 600) * 1000)
        await producer.send_and_wait(names.name(Topic.SEARCH_RESULTS), b"{}", timestamp_ms=later)
    report = await examined(monkeypatch, tmp_path, **ours)
    assert report.of("clock").startswith("warn  clock: the newest message on the broker is from")
    report = await examined(
        monkeypatch, tmp_path, clock=lambda: now() + timedelta(minutes=11), **ours
    )
    assert report.of("clock").startswith("ok  ")


async def test_one_broker_of_several_that_is_away_is_no_failure(monkeypatch, tmp_path, kafka):
    away = f"127.0.0.1:{free_port()}"
    report = await examined(
        *(monkeypatch, tmp_path), broker=f"kafka://{away},{kafka}", topic_prefix="doctor-two."
    )
    assert any(line.startswith(f"warn  broker: {away} cannot be reached") for line in report.lines)
    assert any(line.startswith("ok    broker: ") for line in report.lines)
