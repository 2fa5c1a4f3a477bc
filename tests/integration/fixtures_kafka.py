"""One real Apache Kafka per process that runs tests, in a process of its own."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[str]:
    """The address of this test process's broker; it depends on no test's event loop."""
    command = [sys.executable, "-m", "memstream.embedded.kafka", f"--jars-dir={kafka_jars}"]
    command.append(f"--data-dir={tmp_path_factory.mktemp('kafka')}")
    # Under a guard, so that it is gone even when the tests are killed.
    guarded = [sys.executable, "-I", "-S", guard.__file__]
    guarded += [str(int(signal.SIGTERM)), str(STOP_TIMEOUT_S)]
    with subprocess.Popen(
        [*guarded, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().strip()
        if bootstrap:
            yield bootstrap
        process.communicate(timeout=2 * STOP_TIMEOUT_S)
    if not bootstrap:
        pytest.fail("Kafka did not start; its reason is in the captured standard error")
