"""Times contestants in turn, query by query, so that whatever disturbs one disturbs all."""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Q = TypeVar("Q")
Call = Callable[[Q], Awaitable[Any]]

WARM_UP = 5
PAUSE_S = 0.002
"""Between two, so that what one does after its answer is not in the time of the next."""
OWN_LOAD = 2
"""What a run itself may add to the load of each core: a client, a server, a model's threads."""


@dataclass
class Times:
    """How long one contestant took, in ms, round by round, and what it answered in the last."""

    rounds: list[list[float]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    @property
    def p50(self) -> float:
        """The median over rounds of each round's median."""
        return statistics.median(statistics.median(times) for times in self.rounds)

    @property
    def p95(self) -> float:
        """The median over rounds of each round's 95th percentile."""
        return statistics.median(percentile(times, 95) for times in self.rounds)

    @property
    def p10(self) -> float:
        """The same of the 10th: how long it takes when nothing else wants the cores."""
        return statistics.median(percentile(times, 10) for times in self.rounds)

    @property
    def fastest(self) -> float:
        """The shortest time of all."""
        return min(map(min, self.rounds))

    def against(self, other: "Times") -> list[float]:
        """Return the ratio of medians of each round."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return [statistics.median(mine) / statistics.median(theirs) for mine, theirs in pairs]

    def summary(self) -> dict[str, float]:
        """Return the percentiles, rounded."""
        found = {"p10_ms": self.p10, "p50_ms": self.p50, "p95_ms": self.p95}
        return {name: round(value, 3) for name, value in found.items()}


def busy() -> str:
    """Return a doubt if others keep the cores busier than a run does by itself, else nothing."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    return f"the load was {load:.0f} on {cores} cores" if load > OWN_LOAD * cores else ""


def percentile(times: Sequence[float], percent: int) -> float:
    """Return a percentile of at least one time."""
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]


async def in_turn(
    contestants: Mapping[str, Call[Q]],
    queries: Sequence[Q],
    rounds: int,
    tell: Callable[[int, int], None],
) -> dict[str, Times]:
    """Put every query to every contestant; who goes first changes from query to query."""
    names = list(contestants)
    times = {name: Times() for name in names}
    for query in queries[:WARM_UP]:
        for name in names:
            await contestants[name](query)
    for number in range(rounds):
        for one in times.values():
            one.rounds.append([])
            one.answers = []
        for n, query in enumerate(queries):
            first = (n + number) % len(names)
            for name in names[first:] + names[:first]:
                started = time.perf_counter()
                answer = await contestants[name](query)
                times[name].rounds[-1].append(1000 * (time.perf_counter() - started))
                times[name].answers.append(answer)
                await asyncio.sleep(PAUSE_S)
            tell(number * len(queries) + n + 1, rounds * len(queries))
    return times
