"""The embedded broker: librdkafka's built-in cluster, in a process of its own.

It speaks the Kafka protocol on a real port but keeps everything in memory, 5 MiB a partition with
the oldest dropped. Right for trying memstream out, not for keeping data.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from memstream.embedded.librdkafka import start_cluster
from memstream.embedded.process import PartError, Process

WELL_KNOWN_PORT = 9092
PORTS_TO_TRY = 20
START_TIMEOUT_S = 15.0


@asynccontextmanager
async def embedded_broker(data_dir: Path, topics: Mapping[str, int]) -> AsyncIterator[str]:
    """Run the broker with these topics and partitions and yield its address.

    It is gone when the context or this process ends.
    """
    ready = data_dir / "broker.json"
    ready.unlink(missing_ok=True)
    process = await Process.start(
        "the embedded broker",
        [sys.executable, "-m", "memstream.embedded.broker", str(ready), json.dumps(dict(topics))],
        log=data_dir / "logs" / "broker.log",
        stop_timeout=2.0,
    )
    try:
        yield await _address(process, ready)
    finally:
        await process.stop()
        ready.unlink(missing_ok=True)


async def _address(process: Process, ready: Path) -> str:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while not ready.exists():
                if not process.running:
                    raise process.failure("did not start")
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise process.failure(f"did not answer within {START_TIMEOUT_S:.0f} s") from None
    address: str = json.loads(ready.read_text())["address"]
    return address


async def serve(ready: Path, topics: Mapping[str, int]) -> None:
    """Run the cluster and the forwarder until SIGTERM, writing the address to ``ready``."""
    cluster_host, _, cluster_port = start_cluster(topics).partition(":")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    server = await _forwarder(cluster_host, int(cluster_port))
    host, port = server.sockets[0].getsockname()
    _write_atomically(ready, json.dumps({"address": f"{host}:{port}"}))
    await stopped.wait()
    server.close()


async def _forwarder(host: str, port: int) -> asyncio.Server:
    """Listen on the well-known port, or the next free one, for clients that want to bootstrap.

    The cluster picks its own port and its metadata names that, so only first contacts come here.
    """

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pipe(reader, there_writer), _pipe(there_reader, writer))

    for candidate in range(WELL_KNOWN_PORT, WELL_KNOWN_PORT + PORTS_TO_TRY):
        with contextlib.suppress(OSError):
            return await asyncio.start_server(forward, "127.0.0.1", candidate)
    raise PartError(f"no free port from {WELL_KNOWN_PORT} on for the embedded broker")


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # Either side may vanish at any time; what matters is that the other is closed then.
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ready", type=Path, help="the file to write the address to")
    parser.add_argument("topics", type=json.loads, help="JSON: the topics and their partitions")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.ready, arguments.topics))
