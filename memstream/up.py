"""The whole service from one command: parts, a worker that is kept running, and where it all is."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from memstream.embedded.broker import embedded_broker
from memstream.embedded.kafka import local_kafka
from memstream.embedded.postgres import embedded_postgres
from memstream.embedded.process import PartError, Process
from memstream.parts import broker_address, sqlite_path
from memstream.runtime import Runtime, forget_runtime, read_runtime
from memstream.settings import ENV_PREFIX, Settings
from memstream.topology import topic_sizes
from memstream.web import free_port
from storage.postgres import migrate
from topics import TopicNames

Progress = Callable[[str], None]

READY_TIMEOUT_S = 170.0
"""A cold start converts the model and waits for a group to settle; three minutes is the promise."""

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0


async def run_up(
    settings: Settings,
    stopped: asyncio.Event,
    progress: Progress,
    on_ready: Callable[[Runtime], None],
) -> None:
    """Run everything until ``stopped`` is set; ``on_ready`` is told once it can be used."""
    serving = asyncio.create_task(_serve(settings, progress, on_ready))
    try:
        await _first(serving, asyncio.create_task(stopped.wait()))
    finally:
        # Whatever is being started or downloaded is given up, and what was started is stopped.
        await _cancel(serving)


async def _serve(
    settings: Settings, progress: Progress, on_ready: Callable[[Runtime], None]
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
        keeping = asyncio.create_task(_keep_worker(settings, runtime, port, progress, served))
        stack.push_async_callback(_cancel, keeping)
        stack.callback(forget_runtime, settings.data_dir)
        becoming_ready = asyncio.create_task(_until_ready(runtime.web))
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
        progress("starting Apache Kafka")
        async with local_kafka(settings.data_dir, progress=progress) as cluster:
            yield cluster.bootstrap
    else:
        yield broker_address(settings)


@asynccontextmanager
async def _database(settings: Settings, progress: Progress) -> AsyncIterator[str]:
    if settings.database == "embedded":
        yield str(sqlite_path(settings))
    elif settings.database == "embedded-postgres":
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
    settings: Settings, runtime: Runtime, port: int, progress: Progress, served: asyncio.Event
) -> None:
    """Run a worker, and another one whenever it ends; what it had not finished comes again.

    Given up only if it never worked: then something is wrong that trying again does not mend.
    """
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        worker = await _start_worker(settings, runtime, port)
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


async def _start_worker(settings: Settings, runtime: Runtime, port: int) -> Process:
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
        env={**os.environ, **{ENV_PREFIX + name: value for name, value in chosen.items()}},
        # Ctrl-C promises an end within 5 s; what is cut off here comes again at the next start.
        stop_timeout=3.0,
    )


async def _until_ready(web: str) -> None:
    deadline = asyncio.get_running_loop().time() + READY_TIMEOUT_S
    async with httpx.AsyncClient() as client:
        while not await _answers(client, f"{web}/readyz"):
            if asyncio.get_running_loop().time() > deadline:
                raise PartError(f"not ready after {READY_TIMEOUT_S:.0f} s: see {web}/readyz")
            await asyncio.sleep(0.1)


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url)).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


async def _first(*tasks: "asyncio.Task[Any]") -> None:
    """Wait until one of the tasks ends, and raise what made it fail."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
