"""``python -m bench.join [--quick]``: measure, print, write results. Needs java and mvn."""

import argparse
import asyncio

from rich.console import Console

from bench.join import report
from bench.join.run import FULL, QUICK, measure
from bench.progress import progress_bars


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.join", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything: some minutes")
    chosen = parser.parse_args()
    console = Console()
    with progress_bars(console) as advance:
        measured = asyncio.run(measure(QUICK if chosen.quick else FULL, advance))
    report.show(measured, console)
    report.write(measured)


if __name__ == "__main__":
    main()
