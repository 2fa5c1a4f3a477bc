"""Runs Apache Kafka in the foreground: prints its address, and serves until Ctrl-C."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from memstream.embedded.kafka import local_kafka
from memstream.embedded.process import PartError


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
