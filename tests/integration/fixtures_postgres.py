"""One real PostgreSQL per process that runs tests, and a fresh database in it for every test."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import psutil
import pytest

from memstream.embedded.postgres import superuser_url

ROOT = Path(__file__).parents[2]

MODULE = (sys.executable, "-m", "memstream.embedded.postgres")

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""A test's data need not survive a crash, of the machine or of the server."""

KILLABLE = {"fsync": "off", "full_page_writes": "off"}
"""What was committed survives a crash of the server, but not one of the machine."""

STOP_TIMEOUT_S = 30.0
"""Above the part's own limit for stopping, so that a hang is the part's failure and not ours."""

TEMPLATE = "memstream_template"


@dataclass(frozen=True)
class PostgresServer:
    """A server in a process of its own."""

    process: "subprocess.Popen[str]"
    data_dir: Path
    url: str

    def kill(self) -> None:
        """End the server as a crash would, and what started it; wait until both are gone."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        servers = [one for one in family if one.name() == "postgres"]
        assert servers
        for server in servers:
            with suppress(psutil.NoSuchProcess):
                server.kill()
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)


StartPostgres = Callable[..., PostgresServer]


def _start(
    data_dir: Path,
    *,
    before: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, str] = FAST,
) -> PostgresServer:
    options = [f"--set={name}={value}" for name, value in settings.items()]
    process = subprocess.Popen(
        [*before, *MODULE, f"--data-dir={data_dir}", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        _stop(process)
        pytest.fail("PostgreSQL did not start; its reason is in the captured standard error")
    return PostgresServer(process, data_dir, url)


def _stop(process: "subprocess.Popen[str]") -> None:
    with process:
        process.communicate(timeout=STOP_TIMEOUT_S)


@pytest.fixture
def start_postgres() -> Iterator[StartPostgres]:
    """Start servers as processes of their own, which a test may kill; stop those that are left."""
    started: list[PostgresServer] = []

    def start(data_dir: Path, **options: Any) -> PostgresServer:
        started.append(_start(data_dir, **options))
        return started[-1]

    yield start
    for server in started:
        _stop(server.process)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The session's server; as a process of its own it depends on no test's event loop."""
    server = _start(tmp_path_factory.mktemp("postgres") / "data")
    yield server
    _stop(server.process)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """The database that every test gets a copy of."""
    make = f'CREATE DATABASE "{TEMPLATE}" TEMPLATE memstream OWNER memstream'
    asyncio.run(_as_superuser(postgres_server, make))
    return TEMPLATE


@pytest.fixture
async def postgres_url(
    postgres_server: PostgresServer, postgres_template: str
) -> AsyncIterator[str]:
    """The address of a fresh database, for the role that the service uses."""
    name = f"test_{uuid4().hex}"
    make = f'CREATE DATABASE "{name}" TEMPLATE "{postgres_template}" OWNER memstream'
    await _as_superuser(postgres_server, make)
    yield urlsplit(postgres_server.url)._replace(path=f"/{name}").geturl()
    await _as_superuser(postgres_server, f'DROP DATABASE "{name}" WITH (FORCE)')


async def _as_superuser(server: PostgresServer, statement: str) -> None:
    connection = await asyncpg.connect(superuser_url(server.data_dir), ssl=False)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
