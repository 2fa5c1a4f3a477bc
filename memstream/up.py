"""The whole service from one command: parts, a worker that is kept running, and where it all is."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from memstream.addresses import free_port, sqlite_path
from memstream.embedded.broker import embedded_broker
from memstream.embedded.process import PartError, Process
from memstream.runtime import Runtime, forget_runtime, read_runtime
from memstream.settings import ENV_PREFIX, Settings
from topics import TopicNames, topic_sizes

Progress = Callable[[str], None]

READY_TIMEOUT_S = 170.0
"""A cold start converts the model and waits for a group to settle; three minutes is the promise."""

ANSWER_TIMEOUT_S = 1.0
"""Of a worker that is well, which answers in milliseconds; Ctrl-C waits for it."""

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0


async def run_up(
    settings: Settings,
    stopped: asyncio.Event,
    progress: Progress,
    on_ready: Callable[[Runtime], None],
    log: Path | None = None,
) -> None:
    """Run everything until ``stopped`` is set; ``on_ready`` is told once it can be used.

    What the agents say goes to the end of ``log``, or to our output when there is none.
    """
    serving = asyncio.create_task(_serve(settings, progress, on_ready, log))
    try:
        await _first(serving, asyncio.create_task(stopped.wait()))
    finally:
        # Whatever is being started or downloaded is given up, and what was started is stopped.
        await _cancel(serving)


async def _serve(
    settings: Settings, progress: Progress, on_ready: Callable[[Runtime], None], log: Path | None
) -> None:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    if running := read_runtime(settings.data_dir):
        raise PartError(f"memstream is running here already (process {running.pid}): {running.web}")
    forget_runtime(settings.data_dir)
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(_broker(settings, progress))
        database = await stack.enter_async_context(_database(settings, progress))
        port = free_port(settings.web_host, settings.web_port)
        runtime = Runtime(
            broker=broker,
            web=f"http://{settings.web_host}:{port}",
            database=database,
            pid=os.getpid(),
        )
        progress("starting the agents")
        served = asyncio.Event()
        keeping = asyncio.create_task(_keep_worker(settings, runtime, port, progress, served, log))
        stack.push_async_callback(_cancel, keeping)
        stack.callback(forget_runtime, settings.data_dir)
        becoming_ready = asyncio.create_task(_until_ready(settings.web_host, port))
        stack.push_async_callback(_cancel, becoming_ready)
        await _first(keeping, becoming_ready)
        served.set()
        runtime.write(settings.data_dir)
        on_ready(runtime)
        await keeping


@asynccontextmanager
async def _broker(settings: Settings, progress: Progress) -> AsyncIterator[str]:
    if settings.broker == "embedded":
        progress("starting the embedded broker")
        topics = topic_sizes(TopicNames(settings.topic_prefix), settings.partitions)
        async with embedded_broker(settings.data_dir, topics) as address:
            yield address
    elif settings.broker == "local-kafka":
        from memstream.embedded.kafka import local_kafka  # aiokafka is slow to import

        progress("starting Apache Kafka")
        async with local_kafka(settings.data_dir, progress=progress) as cluster:
            yield cluster.bootstrap
    else:
        from memstream.broker import broker_of  # aiokafka is slow to import

        yield broker_of(settings).address


@asynccontextmanager
async def _database(settings: Settings, progress: Progress) -> AsyncIterator[str]:
    if settings.database == "embedded":
        yield str(sqlite_path(settings))
        return
    from storage.postgres import migrate  # asyncpg is slow to import

    if settings.database == "embedded-postgres":
        from memstream.embedded.postgres import embedded_postgres

        progress("starting PostgreSQL")
        folder = settings.data_dir / "postgres"
        async with embedded_postgres(folder, progress=progress) as url:
            await migrate(url)
            yield url
    else:
        progress("migrating the database")
        await migrate(settings.database)
        yield settings.database


async def _keep_worker(
    settings: Settings,
    runtime: Runtime,
    port: int,
    progress: Progress,
    served: asyncio.Event,
    log: Path | None = None,
) -> None:
    """Run a worker, and another one whenever it ends; what it had not finished comes again.

    Given up only if it never worked: then something is wrong that trying again does not mend.
    """
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        worker = await _start_worker(settings, runtime, port, log)
        try:
            status = await worker.wait()
        finally:
            await worker.stop()
        if asyncio.get_running_loop().time() - started > LONGEST_PAUSE_S:
            pause = FIRST_PAUSE_S
        elif pause >= LONGEST_PAUSE_S and not served.is_set():
            raise PartError(f"the worker cannot be kept running: it ended with status {status}")
        progress(f"the worker ended with status {status}; starting another")
        await asyncio.sleep(pause)
        pause = min(pause * 3, LONGEST_PAUSE_S)


async def _start_worker(
    settings: Settings, runtime: Runtime, port: int, log: Path | None
) -> Process:
    chosen = {
        "BROKER": f"kafka://{runtime.broker}",
        "DATABASE": runtime.database if "://" in runtime.database else "embedded",
        "DATA_DIR": str(settings.data_dir),
        "EMBEDDER": settings.embedder,
        "WEB_HOST": settings.web_host,
        "WEB_PORT": str(port),
    }
    return await Process.start(
        "the worker",
        [sys.executable, "-m", "memstream", "worker"],
        log=log,
        env={**os.environ, **{ENV_PREFIX + name: value for name, value in chosen.items()}},
        # Ctrl-C promises an end within 5 s; what is cut off here comes again at the next start.
        stop_timeout=3.0,
    )


async def _until_ready(host: str, port: int) -> None:
    deadline = asyncio.get_running_loop().time() + READY_TIMEOUT_S
    while not await asyncio.to_thread(_is_ready, host, port):
        if asyncio.get_running_loop().time() > deadline:
            page = f"http://{host}:{port}/readyz"
            raise PartError(f"not ready after {READY_TIMEOUT_S:.0f} s: see {page}")
        await asyncio.sleep(0.1)


def _is_ready(host: str, port: int) -> bool:
    """Ask a worker of ours; to import httpx for it would take as long as all the rest."""
    asking = HTTPConnection(host, port, timeout=ANSWER_TIMEOUT_S)
    try:
        asking.request("GET", "/readyz")
        return asking.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        asking.close()


async def _first(*tasks: "asyncio.Task[Any]") -> None:
    """Wait until one of the tasks ends, and raise what made it fail."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
