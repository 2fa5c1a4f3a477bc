"""Runs PostgreSQL: prints its address, and serves until its standard input, a pipe, is closed."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from memstream.embedded.postgres import embedded_postgres
from memstream.embedded.process import PartError


async def _serve(data_dir: Path, settings: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin, _at_end_of_input, loop, stop)
    async with embedded_postgres(data_dir, settings=settings) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await stop.wait()


def _at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # A closed pipe stays readable: asked again, it would keep a core busy while postgres stops.
    loop.remove_reader(sys.stdin)
    stop.set()


def main() -> int:
    """Serve one PostgreSQL until standard input is closed."""
    parser = argparse.ArgumentParser(prog="python -m memstream.embedded.postgres")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    chosen = parser.parse_args()
    try:
        asyncio.run(_serve(chosen.data_dir, dict(item.split("=", 1) for item in chosen.settings)))
    except PartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
