"""One real Apache Kafka per process that runs tests, in a process of its own."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from memstream.embedded import guard
from memstream.embedded.kafka.jars import resolve
from tests.locks import locked

ROOT = Path(__file__).parents[2]

JARS_DIR = ROOT / ".memstream" / "kafka-jars"
"""Kept between runs, and the same that ``make kafka`` uses: the jars are downloaded once."""

STOP_TIMEOUT_S = 20.0
"""Above the part's own limit for stopping, so that a hang is the part's failure and not ours."""


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """Where Kafka's jars are kept; skips without java or mvn, which CI must have."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        reason = f"the real Kafka needs {' and '.join(missing)}"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    JARS_DIR.mkdir(parents=True, exist_ok=True)
    # Two mvn at once would write the same files of its local repository.
    with locked(JARS_DIR / "lock"):
        asyncio.run(resolve(JARS_DIR, print))
    return JARS_DIR


@dataclass(frozen=True)
class KafkaServer:
    """A broker in a process of its own."""

    process: "subprocess.Popen[str]"
    bootstrap: str

    def kill(self) -> None:
        """End the broker as a crash would, and wait until it is gone."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        jvms = [one for one in family if one.name() == "java"]
        assert jvms
        for jvm in jvms:
            jvm.kill()
        self.process.wait(STOP_TIMEOUT_S)


StartKafka = Callable[[Path], KafkaServer]


def _start(data_dir: Path, jars: Path) -> KafkaServer:
    command = [sys.executable, "-m", "memstream.embedded.kafka", f"--jars-dir={jars}"]
    command.append(f"--data-dir={data_dir}")
    # Under a guard, so that it is gone even when the tests are killed.
    guarded = [sys.executable, "-I", "-S", guard.__file__]
    guarded += [str(int(signal.SIGTERM)), str(STOP_TIMEOUT_S)]
    process = subprocess.Popen(
        [*guarded, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    bootstrap = process.stdout.readline().strip()
    if not bootstrap:
        _stop(process)
        pytest.fail("Kafka did not start; its reason is in the captured standard error")
    return KafkaServer(process, bootstrap)


def _stop(process: "subprocess.Popen[str]") -> None:
    with process:
        process.communicate(timeout=2 * STOP_TIMEOUT_S)


@contextmanager
def kafka_server(data_dir: Path, jars: Path) -> Iterator[str]:
    """Run a broker for as long as the block lasts, and yield its address."""
    server = _start(data_dir, jars)
    yield server.bootstrap
    _stop(server.process)


@pytest.fixture
def start_kafka(kafka_jars: Path) -> Iterator[StartKafka]:
    """Start brokers that a test may kill; a folder keeps its port. Stop those that are left."""
    started: list[KafkaServer] = []

    def start(data_dir: Path) -> KafkaServer:
        started.append(_start(data_dir, kafka_jars))
        return started[-1]

    yield start
    for server in started:
        _stop(server.process)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[str]:
    """The address of this test process's broker; it depends on no test's event loop."""
    with kafka_server(tmp_path_factory.mktemp("kafka"), kafka_jars) as bootstrap:
        yield bootstrap
