"""Shows how far a run has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeElapsedColumn

Advance = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


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
