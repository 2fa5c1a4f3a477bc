"""Where contestants meet: one broker, one database server, and the same messages for each."""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import psutil
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import Producer

from bench.join.events import MEMORIES, Event, Load
from bench.service import ROOT
from memstream.addresses import free_port
from memstream.broker import Broker
from memstream.embedded.kafka import local_kafka
from memstream.embedded.postgres import embedded_postgres, superuser_url
from memstream.embedded.process import Process
from memstream.topology import ensure_topics
from storage.postgres import migrate
from topics import Topic, TopicNames

PARTITIONS = 4
PATIENCE_S = 300.0
POLL_S = 0.02

CONTESTANTS = {
    "memstream": ("memstream", "worker"),
    "bare loop": ("bench.join.bare",),
    "Quix Streams": ("bench.join.quix",),
}

SETTINGS = {
    # Enough for a million open searches to be found in memory, as a server of one's own would have.
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
}

SEED_MEMORIES = """
INSERT INTO memstream.memories (
    tenant_id, memory_id, content, layer, scope, kind, importance, confidence, decay_rate,
    entities, metadata, created_at, last_confirmed_at
)
SELECT 'tenant-' || lpad(tenant::text, 5, '0'), 'm' || memory, 'a memory', 'user', 'global',
    'fact', 5, 1, 0, '{}', '{}', now(), now()
FROM generate_series(0, $1 - 1) AS tenant, generate_series(0, $2 - 1) AS memory
"""

WRITTEN = """
SELECT
    (SELECT count(*) FROM memstream.open_trajectories WHERE course IS NOT NULL) AS searches,
    (SELECT count(*) FROM memstream.open_trajectories WHERE settled) AS settled,
    (SELECT coalesce(sum(revision), 0)::bigint FROM memstream.open_trajectories) AS corrections,
    (SELECT md5(string_agg(outcome, ',' ORDER BY tenant_id, request_id))
        FROM memstream.open_trajectories) AS outcomes,
    (SELECT count(*) FROM memstream.inbox) AS seen,
    (SELECT count(*) FROM memstream.parked_signals) AS parked,
    (SELECT count(*) FROM memstream.outbox) AS unpublished,
    (SELECT sum(use_count)::bigint FROM memstream.memories) AS uses
"""


@dataclass(frozen=True)
class Result:
    """What one run of one contestant came to."""

    seconds: float
    cpu_s: float
    """Of the contestant's own process."""
    written: dict[str, Any]


class Arena:
    """A broker, a database server, and a template of the database."""

    def __init__(self, broker: str, database: str, superuser: str, folder: Path) -> None:
        self.broker = broker
        self.database = database
        self._superuser = superuser
        self._folder = folder

    async def run(self, contestant: str, warm_up: Load, load: Load) -> Result:
        """Let a contestant do a load, on topics and in a database of its own."""
        names = TopicNames(f"{uuid.uuid4().hex[:8]}.")
        messages = list(load.events())
        async with self.copy() as database:
            await ensure_topics(Broker(self.broker), names, PARTITIONS)
            try:
                async with (
                    self._contestant(contestant, names, database) as process,
                    self._published(names) as published,
                ):
                    await asyncio.to_thread(self._publish, names, warm_up.events())
                    await self._until(published, warm_up.searches, process)
                    before, started = _cpu_s(process), time.perf_counter()
                    await asyncio.to_thread(self._publish, names, messages)
                    await self._until(published, warm_up.searches + load.searches, process)
                    seconds = time.perf_counter() - started
                    cpu_s = _cpu_s(process) - before
            finally:
                await self._delete(names)
            return Result(seconds, cpu_s, await self._written(database))

    def superuser_of(self, database: str) -> str:
        """Return the superuser's address of a database."""
        return urlsplit(self._superuser)._replace(path=urlsplit(database).path).geturl()

    @asynccontextmanager
    async def copy(self) -> AsyncIterator[str]:
        """Yield the address of a database of one's own."""
        name = f"bench_{uuid.uuid4().hex[:8]}"
        await self._execute(f'CREATE DATABASE "{name}" TEMPLATE memstream OWNER memstream')
        try:
            yield urlsplit(self.database)._replace(path=f"/{name}").geturl()
        finally:
            await self._execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @asynccontextmanager
    async def _contestant(
        self, name: str, names: TopicNames, database: str
    ) -> AsyncIterator[Process]:
        module, *arguments = CONTESTANTS[name]
        folder = self._folder / uuid.uuid4().hex[:8]
        folder.mkdir()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMSTREAM_")} | {
            "MEMSTREAM_BROKER": f"kafka://{self.broker}",
            "MEMSTREAM_DATABASE": database,
            "MEMSTREAM_TOPIC_PREFIX": names.prefix,
            "MEMSTREAM_EMBEDDER": "none",
            # The others do not learn from what they have joined.
            "MEMSTREAM_LEARNING_ENABLED": "false",
            "MEMSTREAM_DATA_DIR": str(folder),
            "MEMSTREAM_WEB_PORT": str(free_port("127.0.0.1", 0)),
        }
        command = [sys.executable, *_profiled(folder), "-m", module, *arguments]
        process = await Process.start(name, command, log=folder / "log", env=environment, cwd=ROOT)
        try:
            yield process
        finally:
            await process.stop()

    @asynccontextmanager
    async def _published(self, names: TopicNames) -> AsyncIterator[Any]:
        """Yield what tells how many trajectories there are."""
        topic = names.name(Topic.TRAJECTORIES)
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer = AIOKafkaConsumer(bootstrap_servers=self.broker)
        await consumer.start()

        async def published() -> int:
            return sum((await consumer.end_offsets(partitions)).values())

        try:
            yield published
        finally:
            await consumer.stop()

    async def _until(self, published: Any, many: int, process: Process) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (there := await published()) < many:
            if not process.running or time.monotonic() > deadline:
                raise process.failure(f"published {there} of {many} trajectories")
            await asyncio.sleep(POLL_S)

    def _publish(self, names: TopicNames, events: Iterable[Event]) -> None:
        # The same partitioner as Java's, so that sessions are spread in the same way.
        producer = Producer(
            {
                "bootstrap.servers": self.broker,
                "linger.ms": 5,
                "acks": "all",
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        for event in events:
            producer.produce(names.name(event.topic), event.value, event.key)
            producer.poll(0)
        assert not producer.flush(PATIENCE_S)

    async def _delete(self, names: TopicNames) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.broker)
        await admin.start()
        try:
            await admin.delete_topics([names.name(topic) for topic in Topic])
        finally:
            await admin.close()

    async def _written(self, database: str) -> dict[str, Any]:
        connection = await asyncpg.connect(self.superuser_of(database), ssl=False)
        try:
            return dict(await connection.fetchrow(WRITTEN))
        finally:
            await connection.close()

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._superuser, ssl=False)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@asynccontextmanager
async def arena(folder: Path, tenants: int) -> AsyncIterator[Arena]:
    """Start the broker and the database server; so many tenants have memories."""
    data = folder / "postgres"
    jars = ROOT / ".memstream" / "kafka-jars"
    async with (
        local_kafka(folder, jars_dir=jars) as kafka,
        embedded_postgres(data, settings=SETTINGS) as database,
    ):
        await migrate(database)
        superuser = superuser_url(data)
        connection = await asyncpg.connect(superuser_url(data, "memstream"), ssl=False)
        await connection.execute(SEED_MEMORIES, tenants, MEMORIES)
        await connection.execute("ANALYZE")
        await connection.close()
        yield Arena(kafka.bootstrap, database, superuser, folder)


def _cpu_s(process: Process) -> float:
    """Return how long a contestant has computed; the guard's only child is it."""
    used = [one.cpu_times() for one in psutil.Process(process.pid).children(recursive=True)]
    return sum(one.user + one.system for one in used)


def _profiled(folder: Path) -> Sequence[str]:
    return ("-m", "cProfile", "-o", str(folder / "prof")) if os.environ.get("BENCH_PROFILE") else ()
