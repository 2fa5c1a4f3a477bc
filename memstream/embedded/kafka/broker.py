"""One broker of a local Kafka: a folder with its data, and a JVM while it runs."""

import asyncio
import fcntl
from pathlib import Path

import psutil

from memstream.embedded.kafka.config import Node, Plan, server_properties
from memstream.embedded.kafka.jars import RECIPE
from memstream.embedded.process import PartError, Process

STOP_TIMEOUT_S = 10.0
"""One broker stops in half a second; the last of three waits 5 s for a controller that will not
come back. Twice that, then it is killed."""

POLL_S = 0.05
"""Between two looks at a condition: short against the 2.5 s of a start."""

JVM = (
    "-Xms64m",
    "-Xmx256m",
    # No second compiler and one collector thread: 2.4 s instead of 4.3 s to start on two cores.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # A broker without memory answers nobody and does not end: better a clear end.
    "-XX:+ExitOnOutOfMemoryError",
)


class Broker:
    """A Kafka broker that can be started, stopped and killed again and again on the same data."""

    def __init__(self, folder: Path, node: Node, java: str, jars: Path) -> None:
        self.node = node
        # Absolute, because the JVM works in this folder.
        self._folder = folder.resolve()
        logging = f"-Dlog4j2.configurationFile={RECIPE / 'log4j2.properties'}"
        self._java = [java, *JVM, logging, "-cp", f"{jars.resolve()}/*"]
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """Return the process of this broker, which must have been launched."""
        if self._process is None:
            raise PartError(f"Kafka broker {self.node.id} is not running")
        return self._process

    @property
    def launched(self) -> bool:
        """Whether this broker was launched and not stopped or killed since."""
        return self._process is not None

    async def prepare(self, plan: Plan) -> None:
        """Write the broker's settings and, the first time, format its storage."""
        (self._folder / "data").mkdir(parents=True, exist_ok=True)
        (self._folder / "server.properties").write_text(server_properties(plan, self.node))
        # Kafka writes this file last, so an interrupted format is done again.
        if not (self._folder / "data" / "meta.properties").exists():
            await self._format(plan.cluster_id)

    async def launch(self) -> None:
        """Start the JVM; the broker serves some seconds later."""
        if self.launched:
            raise PartError(f"Kafka broker {self.node.id} is running already")
        self._process = await self._run("kafka.Kafka", "server.properties")

    async def stop(self) -> None:
        """Stop the broker as an operator would, after it handed over what it leads."""
        if self._process is not None:
            await self._process.stop()
            self._process = None

    async def kill(self) -> None:
        """End the broker as a crash would, with SIGKILL."""
        process = self.process
        for jvm in self._jvms():
            jvm.kill()
        await process.wait()
        await self.stop()

    async def _format(self, cluster_id: str) -> None:
        process = await self._run(
            *("kafka.tools.StorageTool", "format"),
            *(f"--cluster-id={cluster_id}", "--config=server.properties"),
        )
        try:
            status = await process.wait()
        finally:
            await process.stop()
        if status != 0:
            raise process.failure("could not format its storage")

    async def _run(self, *arguments: str) -> Process:
        return await Process.start(
            f"Kafka broker {self.node.id}",
            [*self._java, *arguments],
            log=self._folder / "kafka.log",
            cwd=self._folder,
            stop_timeout=STOP_TIMEOUT_S,
        )

    def _jvms(self) -> list[psutil.Process]:
        # The JVM is a grandchild, under its guard: found by the folder that only it works in.
        family = psutil.Process().children(recursive=True)
        return [process for process in family if self._is_jvm(process)]

    def _is_jvm(self, process: psutil.Process) -> bool:
        try:
            return process.cmdline()[:1] == self._java[:1] and process.cwd() == str(self._folder)
        except psutil.NoSuchProcess:  # some other child, which has ended meanwhile
            return False


async def wait_until_unused(folder: Path) -> None:
    """Wait while a broker of a killed memstream still stops; another's use is an error."""
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            while _is_locked(folder / "data" / ".lock"):  # noqa: ASYNC110 — locks send no event
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise PartError(f"another Kafka broker is running on {folder}: stop it first") from None


def _is_locked(lock: Path) -> bool:
    if not lock.exists():
        return False
    with lock.open("ab") as handle:
        try:
            # The same POSIX lock that the JVM holds on this file while a broker runs.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
