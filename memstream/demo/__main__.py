"""Runs the demonstration until Ctrl-C, or for some seconds: ``make demo``."""

import argparse
import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.markup import escape

from memstream.demo.demonstration import SEED, Demonstration, demonstration
from memstream.demo.view import view
from memstream.embedded.process import PartError
from memstream.logs import set_up_logs
from memstream.settings import SettingsError, load_settings

SHOW_EVERY_S: Final = 0.5
TELL_EVERY_S: Final = 15.0
"""How often it is told how far it is where nothing can be drawn over."""


async def demonstrate(
    console: Console, seconds: float | None, seed: int
) -> list[dict[str, object]]:
    """Show it until Ctrl-C or for some seconds, and return what came of it in numbers."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    starting = asyncio.create_task(_run(console, seconds, seed))
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
    try:
        return await starting
    except asyncio.CancelledError:
        return []
    finally:
        stopping.cancel()


async def _run(console: Console, seconds: float | None, seed: int) -> list[dict[str, object]]:
    def progress(step: str) -> None:
        console.print(f"[dim]… {escape(step)}[/]")

    async with demonstration(progress, seed) as shown:
        console.print(f"console: [bold]{shown.runtime.web}[/] · broker: {shown.runtime.broker}")
        await _show(console, shown, seconds)
        return [story.report() for story in shown.stories]


async def _show(console: Console, shown: Demonstration, seconds: float | None) -> None:
    started = time.monotonic()

    def passed() -> float:
        return time.monotonic() - started

    every = SHOW_EVERY_S if console.is_terminal else TELL_EVERY_S
    with Live(console=console, auto_refresh=False) as live:
        while not shown.work.done() and (seconds is None or passed() < seconds):
            await asyncio.wait({shown.work}, timeout=every)
            seen = view(shown.stories, passed())
            if console.is_terminal:
                live.update(seen, refresh=True)
            else:
                console.print(seen)
    if shown.work.done():
        shown.work.result()


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(prog="python -m memstream.demo", description=__doc__)
    parser.add_argument("--seconds", type=float, help="end after so long, instead of by Ctrl-C")
    parser.add_argument("--seed", type=int, default=SEED, help="what everything is drawn from")
    parser.add_argument("--report", type=Path, help="write what came of it to this file, as JSON")
    chosen = parser.parse_args()
    try:
        set_up_logs(load_settings().log_format)
        told = asyncio.run(demonstrate(Console(), chosen.seconds, chosen.seed))
    except* (PartError, SettingsError) as errors:
        sys.exit("\n".join(map(str, errors.exceptions)))
    if chosen.report is not None:
        chosen.report.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
