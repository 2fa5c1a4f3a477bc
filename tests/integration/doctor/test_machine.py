"""`memstream doctor` on machines with nothing, without room, and with what is broken."""

import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from memstream.doctor.machine import LEAST_ROOM, LITTLE_ROOM, examine_python, room
from storage.sqlite import SqliteStore
from tests.acceptance.service import MEMSTREAM, free_port
from tests.examined import examined
from tests.language_model import local_language_model


def command(folder, *arguments, before=(), **options):
    """Run the doctor as people do, with nothing but a folder."""
    environment = {name: value for name, value in os.environ.items() if name[:10] != "MEMSTREAM_"}
    environment |= {"MEMSTREAM_DATA_DIR": str(folder), "MEMSTREAM_EMBEDDER": "none"}
    environment |= {"MEMSTREAM_WEB_PORT": str(free_port())}
    return subprocess.run(
        [*before, MEMSTREAM, "doctor", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_a_machine_with_nothing_is_told_what_to_start(tmp_path):
    ended = command(tmp_path / "data")
    assert ended.returncode == 0, ended.stdout
    assert ended.stderr == ""
    assert "warn  service: does not run from this folder — run `make up`" in ended.stdout
    assert "ok    broker: the embedded one starts with `make up`" in ended.stdout
    assert not (tmp_path / "data").exists()


def test_json_says_the_same(tmp_path):
    (tmp_path / "data").write_text("not a folder")
    ended = command(tmp_path / "data", "--json")
    findings = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert {*findings[0]} == {"state", "part", "what", "remedy"}
    (wrong,) = [one for one in findings if one["state"] == "fail"]
    assert wrong["part"] == "data folder"
    assert "Not a directory" in wrong["what"]
    assert "MEMSTREAM_DATA_DIR" in wrong["remedy"]


async def test_wrong_settings_are_a_line_each(monkeypatch, tmp_path):
    (tmp_path / "memstream.toml").write_text('broker = "kafka:/nowhere"\npartitions = 0\n')
    assert (await examined(monkeypatch, tmp_path)).failed == ["settings", "settings"]


async def test_a_write_beyond_what_is_allowed_is_a_full_disk(monkeypatch, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, before[1]))
    try:
        report = await examined(monkeypatch, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert report.failed == ["disk"]
    assert "is on a full disk (File too large) — free some" in report.of("disk")


def test_a_full_disk_is_told(tmp_path):
    mount = 'mount -t tmpfs -o size=128k none "$0" && exec "$@"'
    ended = command(tmp_path, before=[*_alone_with_mounts(), "sh", "-c", mount, str(tmp_path)])
    assert ended.returncode == 1, ended.stderr
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("fail")]
    assert line.startswith(f"fail  disk: {tmp_path} is on a full disk (No space left on device)")


def _alone_with_mounts():
    """Return how to run a command that may mount without anybody else seeing it."""
    ways = [
        ["unshare", "--mount"],
        ["unshare", "--map-root-user", "--mount"],
        ["sudo", "--non-interactive", "--preserve-env", "unshare", "--mount"],
    ]
    trial = ["mount", "-t", "tmpfs", "none", "/mnt"]
    for way in ways:
        if (
            shutil.which(way[0])
            and not subprocess.run([*way, *trial], capture_output=True).returncode
        ):
            return way
    if os.environ.get("CI") == "true":
        pytest.fail("no file system can be mounted here, in any of the ways tried")
    pytest.skip("no file system can be mounted here")


@pytest.mark.parametrize(
    ("free", "state"), [(LEAST_ROOM - 1, "fail"), (LITTLE_ROOM - 1, "warn"), (LITTLE_ROOM, "ok")]
)
def test_room_is_judged_by_what_is_needed(tmp_path, free, state):
    assert room(tmp_path, free).state == state


@pytest.mark.parametrize(("version", "state"), [((3, 10, 4), "fail"), ((3, 12, 1), "ok")])
def test_pythons_that_will_not_do_are_told(version, state):
    assert examine_python(version).state == state


async def test_a_folder_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    report = await examined(monkeypatch, tmp_path, data_dir="/proc/memstream")
    assert report.failed == ["data folder"]
    assert "/proc/memstream cannot be written" in report.of("data folder")


async def test_what_only_a_local_kafka_needs_is_a_note(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    report = await examined(monkeypatch, tmp_path)
    assert report.failed == []
    assert report.of("java").startswith("ok    java: not installed; only `make kafka`")
    report = await examined(monkeypatch, tmp_path, broker="local-kafka")
    assert "fail  broker: local-kafka needs java and mvn" in report.of("broker")


async def test_a_port_that_is_taken_is_told(monkeypatch, tmp_path):
    async with local_language_model() as other:
        port = int(other.url.rpartition(":")[2])
        report = await examined(monkeypatch, tmp_path, web_port=port)
    assert report.of("console").startswith(f"warn  console: port {port} is taken")
    report = await examined(monkeypatch, tmp_path, web_host="192.0.2.1", web_port=6066)
    assert "cannot be listened on (EADDRNOTAVAIL)" in report.of("console")
    assert report.failed == ["console"]


async def stored(folder):
    """Make the embedded store's file, and return where it is."""
    store = await SqliteStore.open(folder / "memstream.db")
    await store.close()
    return folder / "memstream.db"


async def test_a_file_that_is_no_database_is_told(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memstream.db").write_bytes(b"far from it" * 1000)
    report = await examined(monkeypatch, tmp_path)
    assert "memstream.db is damaged (file is not a database)" in report.of("database")
    assert report.failed == ["database"]


async def test_a_file_with_a_hole_is_told(monkeypatch, tmp_path):
    path = await stored(tmp_path / "data")
    with path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(os.urandom(path.stat().st_size - 3 * 4096))
    report = await examined(monkeypatch, tmp_path)
    assert "memstream.db is damaged" in report.of("database")


async def test_an_older_or_newer_file_is_told(monkeypatch, tmp_path):
    path = await stored(tmp_path / "data")
    assert "is sound" in (await examined(monkeypatch, tmp_path)).of("database")
    for version, line in (
        (1, "warn  schema: "),
        (9_999, "fail  schema: "),
    ):
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA user_version = {version}")
        database.close()
        told = (await examined(monkeypatch, tmp_path)).of("schema")
        assert told.startswith(line)
        assert ("upgrade memstream" if version > 1 else "memstream migrate") in told


@contextmanager
def mute():
    """Listen, and never say a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


async def test_nothing_that_hangs_holds_up_the_rest(monkeypatch, tmp_path):
    with ExitStack() as stack:
        broker, database, model, embedder = (stack.enter_context(mute()) for _ in range(4))
        started = time.monotonic()
        report = await examined(
            *(monkeypatch, tmp_path),
            broker=f"kafka://{broker}",
            database=f"postgresql://u:p@{database}/d",
            embedder=f"http://{embedder}/v1/embeddings",
            llm_base_url=f"http://{model}/v1",
            root_model="m",
        )
        assert time.monotonic() - started < 10
    assert report.failed == ["embedder", "language model", "database", "broker"]
    assert "does not answer" in report.of("broker")


def test_a_thread_that_hangs_does_not_hold_up_the_end():
    program = (
        "import asyncio, threading\n"
        "from memstream.unwaited import UnwaitedThreads\n"
        "async def main():\n"
        "    asyncio.get_running_loop().set_default_executor(UnwaitedThreads())\n"
        "    assert await asyncio.to_thread(lambda: 7) == 7\n"
        "    try:\n"
        "        async with asyncio.timeout(0.1):\n"
        "            await asyncio.to_thread(threading.Event().wait)\n"
        "    except TimeoutError:\n"
        "        print('ended')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30
    )
    assert (ended.stdout, ended.stderr) == ("ended\n", "")
