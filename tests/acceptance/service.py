"""A memstream run as its users run it, and a client that knows nothing of its insides."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore

MEMSTREAM = Path(sys.executable).with_name("memstream")
PATIENCE_S = float(os.environ.get("MEMSTREAM_TEST_PATIENCE_S", "60"))

HTTP = httpx.Client(verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
"""One for all: to make another takes 36 ms, and whoever waits for a page asks for it often."""


def wait_for(condition, what, patience_s=PATIENCE_S):
    """Return what the condition returns once that is true."""
    deadline = time.monotonic() + patience_s
    while not (outcome := condition()):
        assert time.monotonic() < deadline, f"waited {patience_s:.0f} s in vain for {what}"
        time.sleep(0.05)
    return outcome


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def page(url):
    """Return what a page says; None if it says that it is not well, or nothing."""
    try:
        answer = HTTP.get(url)
    except httpx.TransportError:
        return None
    return answer.text if answer.status_code == 200 else None


class Service:
    """One `memstream up`."""

    def __init__(self, data_dir, *options, models=None, **settings):
        self.data_dir = data_dir
        self._options = options
        self._environment = {
            **{name: value for name, value in os.environ.items() if name[:10] != "MEMSTREAM_"},
            "MEMSTREAM_DATA_DIR": str(data_dir),
            "MEMSTREAM_WEB_PORT": str(free_port()),
            **{f"MEMSTREAM_{name.upper()}": str(value) for name, value in settings.items()},
        }
        data_dir.mkdir(parents=True, exist_ok=True)
        if models is not None and not (data_dir / "models").exists():
            (data_dir / "models").symlink_to(models)

    def start(self):
        with (self.data_dir / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [MEMSTREAM, "up", *self._options], env=self._environment, stdout=log, stderr=log
            )
        self.tree = []
        runtime = self.data_dir / "runtime.json"

        def known():
            written = json.loads(runtime.read_text()) if runtime.exists() else {}
            return written.get("pid") == self.process.pid or self.process.poll() is not None

        wait_for(known, "memstream up")
        assert self.process.poll() is None, self.output()
        self.runtime = json.loads(runtime.read_text())
        self.processes()
        return self

    def output(self):
        return (self.data_dir / "up.log").read_text()

    def processes(self):
        """Every process of the service, those of earlier looks included."""
        top = psutil.Process(self.process.pid)
        self.tree = list({*self.tree, top, *top.children(recursive=True)})
        return self.tree

    def worker(self):
        """The process in which the agents run."""
        found = [
            process
            for process in psutil.Process(self.process.pid).children(recursive=True)
            if _command(process)[1:] == ["-m", "memstream", "worker"]
        ]
        return found[0] if found else None

    def ready(self):
        return page(f"{self.runtime['web']}/readyz") is not None

    def metric(self, name):
        """A metric's value, with its labels as they are written; 0 while it is not there."""
        text = HTTP.get(f"{self.runtime['web']}/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def condition(self):
        """Tell all that may say why something did not happen: its log, health and measures."""
        told = [self.output()[-8000:]]
        for path in ("readyz", "metrics"):
            try:
                told.append(HTTP.get(f"{self.runtime['web']}/{path}").text)
            except httpx.TransportError as error:
                told.append(f"{path}: {error!r}")
        told[-1] = "\n".join(line for line in told[-1].splitlines() if line[:10] == "memstream_")
        return "\n".join(told)

    def stop(self, number=signal.SIGINT):
        """Stop it as Ctrl-C does and return how long that took."""
        started = time.monotonic()
        self.processes()
        self.process.send_signal(number)
        self.process.wait(30)
        return time.monotonic() - started

    def left_over(self):
        """The processes of the service that still run."""
        return [process for process in self.tree if process.is_running() and not _dead(process)]

    def counts(self, tenant, *memory_ids):
        """Read the counts of memories as they are in the database."""

        async def read():
            database = self.runtime["database"]
            if "://" in database:
                store = await PostgresStore.open(database, connections=1)
            else:
                store = await SqliteStore.open(Path(self.data_dir) / "memstream.db")
            try:
                return await store.counts(tenant, memory_ids)
            finally:
                await store.close()

        return asyncio.run(read())

    def command(self, *arguments, check=True):
        return subprocess.run(
            [MEMSTREAM, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=check,
            timeout=PATIENCE_S,
        )


def _command(process):
    """Return how a process was started; nothing of one that ends while it is looked at."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _dead(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


RUNNING = []
"""The services that run now: whoever wants to know why a test failed asks them."""


@contextmanager
def running(data_dir, *options, models=None, **settings):
    service = Service(data_dir, *options, models=models, **settings).start()
    RUNNING.append(service)
    try:
        yield service
    except BaseException:
        print(service.condition())
        raise
    finally:
        RUNNING.remove(service)
        if service.process.poll() is None:
            service.stop()
        print(service.output())


def create_topic(broker, topic):
    """Create a topic as an operator would; the embedded broker makes those that are asked for."""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


class Client:
    """A service somewhere else, written with another Kafka library."""

    def __init__(self, broker, topics=("search.results", "dead-letters")):
        self._producer = Producer(
            {
                "bootstrap.servers": broker,
                "message.max.bytes": 8_000_000,
                "log_level": 2,
            }
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker,
                "group.id": f"client-{uuid.uuid4()}",
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 8_000_000,
                # The embedded broker holds every empty fetch to the end.
                "fetch.wait.max.ms": 20,
                "log_level": 2,
            }
        )
        self._seen = {f"memory.{topic}": [] for topic in topics}
        self._read = defaultdict(list)
        """What was read of each topic."""
        self._about = defaultdict(list)
        """What was read, by topic and request."""
        partitions = []
        for topic in self._seen:
            # The embedded broker makes a topic when a producer asks for it, a moment later.
            known = wait_for(lambda topic=topic: self._partitions(topic), topic)
            partitions += [TopicPartition(topic, number, 0) for number in known]
        self._consumer.assign(partitions)

    def _partitions(self, topic):
        return self._producer.list_topics(topic, timeout=10).topics[topic].partitions

    def close(self):
        self._producer.flush(10)
        self._consumer.close()

    def publish(self, topic, value, *, key=b"acme/s", headers=()):
        encoded = value if isinstance(value, bytes | None) else json.dumps(value).encode()
        self._producer.produce(f"memory.{topic}", encoded, key=key, headers=list(headers))
        assert self._producer.flush(30) == 0

    def remember(self, memory_id, content, *, tenant="acme", **fields):
        item = {
            "event_id": str(uuid.uuid4()),
            "tenant_id": tenant,
            "memory_id": memory_id,
            "content": content,
        }
        self.publish("items", item | fields, key=f"{tenant}/".encode())

    def remember_all(self, contents, *, tenant="acme"):
        """Publish many memories without waiting for each."""
        for memory_id, content in contents.items():
            item = {"event_id": memory_id, "tenant_id": tenant, "memory_id": memory_id}
            value = json.dumps(item | {"content": content}).encode()
            self._producer.produce("memory.items", value, key=f"{tenant}/".encode())
        assert self._producer.flush(30) == 0

    def request(self, query, *, tenant="acme", session_id="s", **fields):
        request_id = str(uuid.uuid4())
        request = {
            "request_id": request_id,
            "tenant_id": tenant,
            "session_id": session_id,
            "query": query,
        }
        self.publish("search.requests", request | fields, key=f"{tenant}/{session_id}".encode())
        return request_id

    def result(self, request_id):
        """Wait for the result of a request."""
        return self.about(request_id, "search.results")[0]

    def about(self, request_id, topic, count=1):
        """Wait for so many messages about a request."""

        def found():
            self._read_new(f"memory.{topic}")
            told = self._about[topic, request_id]
            return len(told) >= count and list(told)

        return found() or wait_for(lambda: self.poll() and found(), f"{request_id} on {topic}")

    def about_either(self, request_id, *topics):
        """Wait for a message about a request on any of the topics."""

        def found():
            told = [one for topic in topics for one in self.messages(topic)]
            return next((one for one in told if one["request_id"] == request_id), None)

        return wait_for(found, f"{request_id} on {topics}")

    def headers_of(self, topic, correlation_id):
        """Return the headers of what came on a topic with a correlation id."""
        self._poll_all()
        told = [dict(message.headers() or ()) for message in self._seen[f"memory.{topic}"]]
        return [one for one in told if one.get("correlation-id") == correlation_id.encode()]

    def messages(self, topic):
        """Return everything on a topic so far."""
        self._poll_all()
        return list(self._read_new(f"memory.{topic}"))

    def _read_new(self, topic):
        read = self._read[topic]
        for message in self._seen[topic][len(read) :]:
            read.append(json.loads(message.value()))
            self._about[topic.removeprefix("memory."), read[-1].get("request_id")].append(read[-1])
        return read

    def search_until(self, query, memory_id, **fields):
        """Search until the memory is found: storing it takes a moment."""

        def found():
            result = self.result(self.request(query, **fields))
            assert result["status"] == "ok", result
            return memory_id in [hit["memory_id"] for hit in result["results"]] and result

        return wait_for(found, f"{memory_id} to be found")

    def dead_letters(self):
        self._poll_all()
        return self._seen["memory.dead-letters"]

    def _poll_all(self):
        while self.poll():
            pass

    def poll(self):
        """Take what has come, waiting a moment if nothing has; tell whether there was anything."""
        first = self._consumer.poll(0.1)
        come = [] if first is None else [first, *self._consumer.consume(1000, timeout=0)]
        for message in come:
            if message.error() is None:
                self._seen[message.topic()].append(message)
        return bool(come)
