"""Runs the demonstration until Ctrl-C: ``make demo``."""

import asyncio
import random
import signal
import uuid
from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from rich.console import Console
from rich.live import Live
from rich.table import Table

from memstream.demo.tenants import DemoTenant, demo_tenants
from memstream.logs import set_up_logs
from memstream.messenger import Messenger
from memstream.runtime import Runtime
from memstream.settings import Settings, load_settings
from memstream.up import run_up
from models import SearchRequest
from topics import TopicNames

SEED = 7
KEPT = 100
"""How many latencies to take the median of: recent enough to move, enough not to jump."""


@dataclass
class Tally:
    """What has happened so far."""

    searches: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    last: dict[str, tuple[str, str]] = field(default_factory=dict)

    def table(self) -> Table:
        """Show it."""
        table = Table(
            "tenant", "searches", "right answer first", "median", "last question", "found"
        )
        for tenant, count in self.searches.items():
            right = f"{self.answered[tenant] / count:.0%}"
            milliseconds = f"{1000 * median(self.latencies[tenant]):.0f} ms"
            table.add_row(tenant, str(count), right, milliseconds, *self.last[tenant])
        return table


async def demonstrate() -> None:
    """Start the service, fill it, and search it until Ctrl-C."""
    settings = load_settings()
    set_up_logs(settings.log_format)
    console = Console()
    stopped, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    service = asyncio.create_task(
        run_up(settings, stopped, lambda step: console.print(f"[dim]… {step}[/]"), ready.set_result)
    )
    traffic = asyncio.create_task(_traffic(settings, ready, console))
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait({service, traffic, stopping}, return_when=asyncio.FIRST_COMPLETED)
    failed = traffic.done() and not stopped.is_set()
    stopped.set()
    traffic.cancel()
    await asyncio.gather(service, *([traffic] if failed else []))


async def _traffic(settings: Settings, ready: "asyncio.Future[Runtime]", console: Console) -> None:
    runtime = await ready
    tally, chance = Tally(), random.Random(SEED)  # noqa: S311 — a demonstration, not a secret
    async with Messenger.connect(runtime.broker, TopicNames(settings.topic_prefix)) as messenger:
        for tenant in demo_tenants():
            async for _ in messenger.remember(tenant.items()):
                pass
        console.print(f"console: {runtime.web} · broker: {runtime.broker} · Ctrl-C stops it")
        with Live(console=console, auto_refresh=False) as live:
            while True:
                for tenant in demo_tenants():
                    await _search(messenger, tenant, tally, chance)
                live.update(tally.table(), refresh=True)


async def _search(
    messenger: Messenger, tenant: DemoTenant, tally: Tally, chance: random.Random
) -> None:
    content, question = chance.choice(tenant.memories)
    request = SearchRequest(
        request_id=str(uuid.uuid4()), tenant_id=tenant.name, session_id="demo", query=question
    )
    started = asyncio.get_running_loop().time()
    result = await messenger.ask(request, timeout_s=30)
    took = asyncio.get_running_loop().time() - started
    found = result.results[0].content if result.results else "nothing yet"
    tally.searches[tenant.name] += 1
    tally.answered[tenant.name] += found == content
    tally.latencies[tenant.name] = [*tally.latencies.get(tenant.name, []), took][-KEPT:]
    tally.last[tenant.name] = (question, found)


if __name__ == "__main__":
    asyncio.run(demonstrate())
