"""The local Apache Kafka, for real: what it offers, and what it survives."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from memstream.embedded.kafka import local_kafka
from memstream.embedded.kafka.broker import STOP_TIMEOUT_S
from memstream.embedded.process import GRACE_S, PartError

ROOT = Path(__file__).parents[3]

GONE_WITHIN_S = STOP_TIMEOUT_S + GRACE_S
"""The guard kills what has not stopped by its timeout; the rest is a busy machine's."""


def jvms(data_dir):
    family = psutil.Process().children(recursive=True)
    java = [process for process in family if process.name() == "java"]
    return [process for process in java if Path(process.cwd()).is_relative_to(data_dir)]


@asynccontextmanager
async def admin_of(bootstrap):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def make_topic(bootstrap, name, copies=1):
    async with admin_of(bootstrap) as admin:
        answer = await admin.create_topics([NewTopic(name, 2, copies)])
    assert [error for _, error, *_ in answer.topic_errors] == [0]


async def produce(bootstrap, topic, *values):
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", max_request_size=8 * 1024 * 1024
    ) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(bootstrap, topic, count):
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id="readers", auto_offset_reset="earliest"
    ) as consumer:
        async with asyncio.timeout(30):
            return {(await consumer.getone()).value for _ in range(count)}


@pytest.fixture
def cli(kafka_jars, tmp_path):
    """Start the module as a user would, in a process that a test may kill."""
    started = []

    def start(*options):
        command = [sys.executable, "-m", "memstream.embedded.kafka", f"--jars-dir={kafka_jars}"]
        process = subprocess.Popen(
            [*command, f"--data-dir={tmp_path}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=2 * GONE_WITHIN_S)


async def test_messages_survive_a_crash_and_a_restart_on_the_same_address(kafka_jars, tmp_path):
    async with local_kafka(tmp_path, jars_dir=kafka_jars) as cluster:
        first = cluster.bootstrap
        await make_topic(first, "kept")
        await produce(first, "kept", b"one")
        assert len(jvms(tmp_path)) == 1
        await cluster.kill(0)
        assert jvms(tmp_path) == []
        await cluster.start(0)
        await produce(first, "kept", b"two")
    assert jvms(tmp_path) == []
    async with local_kafka(tmp_path, jars_dir=kafka_jars) as cluster:
        assert cluster.bootstrap == first
        assert await consume(first, "kept", 2) == {b"one", b"two"}
    assert jvms(tmp_path) == []


async def test_a_message_of_four_mebibytes_arrives(kafka):
    large = b"x" * 4 * 1024 * 1024
    await make_topic(kafka, "large")
    await produce(kafka, "large", large)
    assert await consume(kafka, "large", 1) == {large}


async def test_topics_are_not_made_by_asking_for_them(kafka):
    async with admin_of(kafka) as admin:
        await admin.describe_topics(["never-made"])
        assert "never-made" not in await admin.list_topics()


async def test_three_brokers_lose_one_and_keep_accepting(kafka_jars, tmp_path):
    async with local_kafka(tmp_path, brokers=3, jars_dir=kafka_jars) as cluster:
        await make_topic(cluster.bootstrap, "copied", copies=3)
        await produce(cluster.bootstrap, "copied", b"before")
        await cluster.kill(1)
        assert len(jvms(tmp_path)) == 2
        await produce(cluster.bootstrap, "copied", b"meanwhile")
        await cluster.start(1)
        await cluster.stop(0)
        await produce(cluster.bootstrap, "copied", b"after")
        await cluster.start(0)
        everything = {b"before", b"meanwhile", b"after"}
        assert await consume(cluster.bootstrap, "copied", 3) == everything
    assert jvms(tmp_path) == []


async def test_nothing_outlives_a_killed_starter_whose_data_can_be_used_at_once(
    cli, kafka_jars, tmp_path
):
    starter, bootstrap = cli()
    await make_topic(bootstrap, "kept")
    await produce(bootstrap, "kept", b"one")
    left = jvms(tmp_path)
    assert len(left) == 1
    starter.kill()
    async with local_kafka(tmp_path, jars_dir=kafka_jars) as cluster:
        _, alive = psutil.wait_procs(left, timeout=GONE_WITHIN_S)
        assert alive == []
        assert cluster.bootstrap == bootstrap
        assert await consume(cluster.bootstrap, "kept", 1) == {b"one"}


def test_the_command_ends_well_when_asked_to_and_says_when_the_broker_is_gone(cli, tmp_path):
    for stop in (signal.SIGINT, signal.SIGTERM):
        starter, bootstrap = cli()
        assert bootstrap
        left = jvms(tmp_path)
        starter.send_signal(stop)
        assert starter.wait(GONE_WITHIN_S) == 0
        assert not any(jvm.is_running() for jvm in left)
    starter, bootstrap = cli()
    assert bootstrap
    for jvm in jvms(tmp_path):
        jvm.kill()
    assert starter.wait(GONE_WITHIN_S) == 1
    assert "Kafka broker 1 ended unexpectedly" in starter.stderr.read()


def test_a_chosen_port_is_used_and_a_taken_one_refused(cli):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        starter, bootstrap = cli(f"--port={port}")
        assert bootstrap == ""
        assert starter.wait(GONE_WITHIN_S) == 1
        assert f"port {port} is taken" in starter.stderr.read()
    _, bootstrap = cli(f"--port={port}")
    assert bootstrap == f"127.0.0.1:{port}"


async def test_a_broker_that_cannot_start_says_why(kafka_jars, tmp_path):
    async with local_kafka(tmp_path, jars_dir=kafka_jars) as cluster:
        await cluster.stop(0)
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", cluster.brokers[0].node.port))
            server.listen()
            with pytest.raises(PartError, match=r"(?s)did not start.*Address already in use"):
                await cluster.start(0)


async def test_two_kafkas_cannot_share_their_data(kafka_jars, tmp_path, monkeypatch):
    async with local_kafka(tmp_path, jars_dir=kafka_jars):
        # How long a predecessor may take to stop: this one does not.
        with monkeypatch.context() as patch:
            patch.setattr("memstream.embedded.kafka.broker.STOP_TIMEOUT_S", 0.2)
            with pytest.raises(PartError, match="another Kafka broker is running"):
                await local_kafka(tmp_path, jars_dir=kafka_jars).__aenter__()


@pytest.mark.parametrize(
    ("program", "package"), [("java", "openjdk-17-jre-headless"), ("mvn", "maven")]
)
async def test_a_missing_program_is_named(kafka_jars, tmp_path, monkeypatch, program, package):
    for other in {"java", "mvn"} - {program}:
        (tmp_path / other).symlink_to(shutil.which(other))
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(PartError, match=f"needs {program}, .*apt-get install {package}"):
        async with local_kafka(tmp_path):
            pass
