"""A real PostgreSQL with pgvector that lives as long as whoever started it."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from memstream.embedded.postgres.cluster import STOP_TIMEOUT_S, Cluster, program
from memstream.embedded.postgres.folder import POLL_S, PostgresFolder
from memstream.embedded.postgres.roles import ServerEndedError, until_ready
from memstream.embedded.postgres.user import server_user
from memstream.embedded.process import GRACE_S, Process

LEAVE_TIMEOUT_S = STOP_TIMEOUT_S + GRACE_S
"""By then a predecessor whose starter is gone has stopped, or its guard has killed it."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # One service with a few dozen connections, beside a broker and a model: small and bounded.
    "max_connections": "50",
    "shared_buffers": "64MB",
    # Bounds the disk used and, at tens of MB/s, the replay after a crash to seconds.
    "max_wal_size": "256MB",
    # No replica ever follows it, so bulk loads and index builds may skip the log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Saves three processes: what is read here is nearly always in the page cache.
    "io_method": "sync",
    # Queries take milliseconds here; compiling one takes tens.
    "jit": "off",
    # A parallel HNSW build keeps its graph in /dev/shm, of which containers have 64 MB.
    "max_parallel_maintenance_workers": "0",
    "log_checkpoints": "off",
}


@asynccontextmanager
async def embedded_postgres(
    data_dir: Path,
    *,
    port: int | None = None,
    progress: Callable[[str], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[str]:
    """Run PostgreSQL in ``data_dir`` and yield the address of memstream's database in it."""
    folder = PostgresFolder.at(data_dir)
    tell = progress or _say_nothing
    chosen = SETTINGS | dict(settings or {})
    async with folder.held(LEAVE_TIMEOUT_S, tell):
        user = await server_user(folder.root, folder.cluster, program("initdb"))
        cluster = Cluster(folder, user)
        if not folder.cluster.exists():
            tell("making the PostgreSQL cluster")
            await cluster.make(sync=chosen.get("fsync") != "off")
        tell("starting PostgreSQL")
        server = await _start(cluster, chosen, port, tell)
        try:
            yield folder.url()
        finally:
            await server.stop()


def superuser_url(data_dir: Path, database: str = "postgres") -> str:
    """Return the superuser's address of a running server; for bootstrap and tests only."""
    return PostgresFolder.at(data_dir).superuser_url(database)


async def _start(
    cluster: Cluster,
    settings: Mapping[str, str],
    fixed_port: int | None,
    tell: Callable[[str], None],
) -> Process:
    folder = cluster.folder
    port = fixed_port or folder.port or _free_port()
    deadline = time.monotonic() + LEAVE_TIMEOUT_S
    if folder.occupied:
        tell("the previous PostgreSQL was killed, or is still stopping")
    while True:
        folder.keep_port(port)
        occupied = folder.occupied
        server, ready = await _try_start(cluster, {**settings, "port": str(port)})
        if ready:
            return server
        # Only postgres can tell whether a predecessor still uses the files: let it try again. The
        # predecessor may have left since it tried, hence the look before.
        if (occupied or folder.occupied) and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)
        elif fixed_port is None and not _is_free(port):
            port = _free_port()
        else:
            raise server.failure("could not start")


async def _try_start(cluster: Cluster, settings: Mapping[str, str]) -> tuple[Process, bool]:
    # Seen in ps, and what tells the server that we start here from any other that answers.
    instance = f"memstream-{secrets.token_hex(4)}"
    options = [f"--{name}={value}" for name, value in settings.items()]
    server = await cluster.run(
        "postgres", ["-D", str(cluster.folder.cluster), *options, f"--cluster_name={instance}"]
    )
    try:
        await until_ready(server, cluster.folder, instance)
    except ServerEndedError:
        return server, False
    except BaseException:
        await server.stop()
        raise
    return server, True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As postgres binds it: connections of the past that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _say_nothing(_: str) -> None:
    return
