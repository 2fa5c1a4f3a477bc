"""``python -m bench.search [--quick] [--dataset DIR]``: measure, print, write bench/results."""

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeElapsedColumn

from bench.search import report
from bench.search.run import FULL, QUICK, measure
from bench.search.vectors import Advance


@contextmanager
def progress_bars(console: Console) -> Iterator[Advance]:
    """Show a bar for whatever is being done."""
    with Progress(
        *Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks or (bars.tasks[tasks[what]].completed >= total > done):
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield advance


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
