"""Measures everything in one run."""

import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.join.arena import CONTESTANTS, PARTITIONS, Arena, Result, arena
from bench.join.events import Load
from bench.join.flatness import flatness
from bench.join.work import BATCH
from bench.progress import Advance
from bench.search.goals import Goal
from bench.search.timing import busy

OF_THE_LIMIT = 0.7
OURS, LIMIT, PEER = CONTESTANTS

NOTES = (
    f"one process each, {PARTITIONS} partitions a topic, up to {BATCH} events in a transaction",
    "from the first message published until the last trajectory is: joining, writing, the outbox "
    "and publishing are all in it; every search comes with one signal, which is two events",
    "the broker, the database server and the contestant share the cores",
    "flatness: the same events without Kafka around them, in databases that take turns; courses of "
    "what is open are short, as long ones are kept apart from the rows that are looked for",
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    searches: int
    rounds: int
    tenants: tuple[int, ...]
    open: tuple[int, ...]
    flat_searches: int
    flat_rounds: int


FULL = Size(10_000, 5, (1, 16, 1_000), (1_000, 100_000, 1_000_000), 1_280, 5)
QUICK = Size(4_000, 1, (16, 1_000), (1_000, 100_000), 640, 3)
WARM_UP = 500


async def measure(size: Size, advance: Advance) -> dict[str, Any]:
    """Measure everything in one run."""
    with tempfile.TemporaryDirectory(prefix="memstream-bench-") as name:
        async with arena(Path(name), max(size.tenants)) as place:
            races, goals = {}, []
            for tenants in size.tenants:
                title = f"{tenants:,} tenants" if tenants > 1 else "1 tenant"
                races[title], more = await _race(place, tenants, title, size, advance)
                goals += more
            load = Load("flat", size.flat_searches, 16)
            rows, more = await flatness(place, size.open, load, size.flat_rounds, advance)
            goals += more
    return {
        "machine": {"cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)},
        "races": races,
        "open": rows,
        "goals": [goal.summary() for goal in goals],
        "notes": NOTES,
    }


async def _race(
    place: Arena, tenants: int, title: str, size: Size, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    found: dict[str, list[Result]] = {name: [] for name in CONTESTANTS}
    doubts = []
    for number in range(size.rounds):
        # In turn, so that whatever disturbs one disturbs all.
        for turn, name in enumerate(CONTESTANTS):
            warm_up = Load("warm-up", WARM_UP, tenants, number)
            load = Load("race", size.searches, tenants, number)
            found[name].append(await place.run(name, warm_up, load))
            doubts.append(busy())
            done = number * len(CONTESTANTS) + turn + 1
            advance(title, done, size.rounds * len(CONTESTANTS))
    _check(found, WARM_UP + size.searches)
    events = 2 * size.searches
    rates = {name: [events / one.seconds for one in runs] for name, runs in found.items()}
    rows = {
        name: {
            "events_per_s": round(statistics.median(rates[name])),
            "all": [round(rate) for rate in rates[name]],
            "cpu_us": round(1e6 * statistics.median(one.cpu_s for one in runs) / events),
        }
        for name, runs in found.items()
    }
    doubt = next(filter(None, doubts), "")
    against = {
        name: [ours / other for ours, other in zip(rates[OURS], rates[name], strict=True)]
        for name in (LIMIT, PEER)
    }
    return rows, [
        Goal.of_ratios(
            f"{title}: events/s against the {LIMIT}",
            against[LIMIT],
            OF_THE_LIMIT,
            at_most=False,
            doubt=doubt,
        ),
        Goal.of_ratios(
            f"{title}: events/s against {PEER}", against[PEER], 1.0, at_most=False, doubt=doubt
        ),
    ]


def _check(found: dict[str, list[Result]], searches: int) -> None:
    """See that everybody has done all of the work, and the same."""
    for number, runs in enumerate(zip(*found.values(), strict=True)):
        first = runs[0].written
        if first["settled"] != searches or any(one.written != first for one in runs):
            raise AssertionError(f"round {number}: {[one.written for one in runs]}")
