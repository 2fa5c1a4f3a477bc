"""``python -m bench.search [--quick] [--dataset DIR]``: measure, print, write bench/results."""

import argparse
import asyncio
from pathlib import Path

from rich.console import Console

from bench.progress import progress_bars
from bench.search import report
from bench.search.run import FULL, QUICK, measure


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 memories: about a minute")
    parser.add_argument("--dataset", type=Path, action="append", default=[], metavar="DIR")
    chosen = parser.parse_args()
    console = Console()
    with progress_bars(console) as advance:
        size = QUICK if chosen.quick else FULL
        measured = asyncio.run(measure(size, chosen.dataset, advance))
    report.show(measured, console)
    report.write(measured)


if __name__ == "__main__":
    main()
