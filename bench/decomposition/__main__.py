"""``python -m bench.decomposition [--quick] [--dataset DIR]``: measure, print, write results."""

import argparse
import asyncio
from pathlib import Path

from rich.console import Console

from bench.decomposition import report
from bench.decomposition.run import FULL, QUICK, measure
from bench.progress import progress_bars


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.decomposition", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything: some minutes")
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
