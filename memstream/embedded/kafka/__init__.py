"""A real Apache Kafka on this machine: one broker, or three to try failures on.

``python -m memstream.embedded.kafka`` prints its address and runs it until Ctrl-C.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from memstream.embedded.kafka.broker import Broker, wait_until_unused
from memstream.embedded.kafka.cluster import Cluster
from memstream.embedded.kafka.jars import require, resolve
from memstream.embedded.kafka.plan import make_plan

__all__ = ["Cluster", "local_kafka"]


@asynccontextmanager
async def local_kafka(
    data_dir: Path,
    *,
    brokers: int = 1,
    port: int | None = None,
    jars_dir: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> AsyncIterator[Cluster]:
    """Run Kafka on the data under ``data_dir``; several brokers take the ports from ``port`` on."""
    tell = progress or _say_nothing
    java = require("java")
    jars = await resolve(jars_dir or data_dir / "kafka-jars", tell)
    cluster = await _prepare(data_dir / "kafka", brokers, port, java, jars)
    tell(f"starting Apache Kafka on {cluster.bootstrap}")
    try:
        await cluster.start_all()
        yield cluster
    finally:
        await cluster.stop_all()


async def _prepare(folder: Path, brokers: int, port: int | None, java: str, jars: Path) -> Cluster:
    places = [folder / f"broker-{i + 1}" for i in range(brokers)]
    for place in places:
        await wait_until_unused(place)
    plan = make_plan(folder, brokers, port)
    pairs = zip(places, plan.nodes, strict=True)
    members = tuple(Broker(place, node, java, jars) for place, node in pairs)
    for broker in members:
        await broker.prepare(plan)
    return Cluster(plan.bootstrap, members)


def _say_nothing(_: str) -> None:
    return
