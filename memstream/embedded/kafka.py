"""A real Apache Kafka on this machine: one broker, or three to try failures on.

``python -m memstream.embedded.kafka`` prints its address and runs it until Ctrl-C.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from memstream.embedded.kafka_broker import Broker, wait_until_unused
from memstream.embedded.kafka_cluster import Cluster
from memstream.embedded.kafka_jars import require, resolve
from memstream.embedded.kafka_plan import make_plan
from memstream.embedded.process import PartError

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


async def _serve(options: argparse.Namespace) -> None:
    running = asyncio.current_task()
    assert running is not None
    # Cancelled rather than told: a download or a start that is under way ends at once, too.
    for stop in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    async with local_kafka(**vars(options), progress=_say) as cluster:
        sys.stdout.write(f"{cluster.bootstrap}\n")
        sys.stdout.flush()
        raise await cluster.failed()


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m memstream.embedded.kafka")
    parser.add_argument("--data-dir", type=Path, default=Path(".memstream"))
    parser.add_argument("--jars-dir", type=Path, help="default: kafka-jars in the data folder")
    parser.add_argument("--port", type=int, help="default: the last one; at first a free one")
    parser.add_argument("--brokers", type=int, default=1, choices=(1, 3))
    return parser.parse_args()


def main() -> int:
    """Run Kafka in the foreground, print its address, and stop it on Ctrl-C or SIGTERM."""
    try:
        asyncio.run(_serve(_options()))
    except asyncio.CancelledError:
        return 0
    except PartError as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
