"""How this worker does: what it counts, looked at every few seconds, as rates and their course."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from prometheus_client import Histogram

from agents.metrics import CONSUMER_LAG, DEAD_LETTERS, READ_SECONDS, SEARCH_SECONDS
from retrieval.metrics import EXECUTION_MS, ROUTES

EVERY_S = 2.0
"""How often it is looked."""

KEPT = 300
"""So many looks are kept: ten minutes."""

LATELY = 30
"""What is told as now is over so many looks: a minute."""

SECOND_MS = 1000.0


class Beat(NamedTuple):
    """What had been counted at a moment."""

    at: datetime
    routes: Mapping[str, float]
    searches: Mapping[float, float]
    """For each bound in seconds, how many took no longer."""
    decompositions: Mapping[float, float]
    """The same in milliseconds."""


class Pulse:
    """Looks at this process's metrics for as long as it is open."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._beats: deque[Beat] = deque(maxlen=KEPT)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Look no longer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(EVERY_S)

    def beat(self) -> None:
        """Look once."""
        self._beats.append(
            Beat(
                self._clock(),
                _by_label(ROUTES, "_total", "decision"),
                _buckets(SEARCH_SECONDS),
                _buckets(EXECUTION_MS),
            )
        )

    def told(self) -> dict[str, Any]:
        """Return rates and latencies of the last minute and their course, and what is counted."""
        beats = list(self._beats)
        lately = beats[-LATELY:]
        return {
            **(_between(lately[0], lately[-1]) if lately else {}),
            "routes": _by_label(ROUTES, "_total", "decision"),
            "lag": _by_label(CONSUMER_LAG, "", "topic"),
            "behind_s": next(iter(READ_SECONDS.collect())).samples[0].value,
            "dead_letters": _dead_letters(),
            "course": [_between(one, two) for one, two in pairwise(beats)],
        }


def _between(one: Beat, two: Beat) -> dict[str, Any]:
    seconds = (two.at - one.at).total_seconds()
    searches = sum(two.routes.values()) - sum(one.routes.values())
    return {
        "at": two.at.isoformat(),
        "searches_per_s": searches / seconds if seconds > 0 else 0.0,
        "search_ms": _quantiles(one.searches, two.searches, SECOND_MS),
        "decomposition_ms": _quantiles(one.decompositions, two.decompositions, 1.0),
    }


def _quantiles(
    one: Mapping[float, float], two: Mapping[float, float], unit: float
) -> dict[str, float | None]:
    counts = [(bound, count - one.get(bound, 0.0)) for bound, count in sorted(two.items())]
    return {
        f"p{share}": None if (found := quantile(counts, share / 100)) is None else found * unit
        for share in (50, 95)
    }


def quantile(counts: Sequence[tuple[float, float]], share: float) -> float | None:
    """Return where so large a share lies below, as Prometheus guesses it from cumulative buckets.

    None where nothing was counted; the greatest finite bound where it lies beyond that.
    """
    if not counts or counts[-1][1] <= 0:
        return None
    wanted = share * counts[-1][1]
    below, lower = 0.0, 0.0
    for bound, count in counts:
        if count >= wanted:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * (wanted - below) / (count - below)
        below, lower = count, bound
    return lower


def _by_label(metric: Any, suffix: str, label: str) -> dict[str, float]:
    return {
        sample.labels[label]: sample.value
        for family in metric.collect()
        for sample in family.samples
        if sample.name == family.name + suffix
    }


def _buckets(metric: Histogram) -> dict[float, float]:
    return {
        float(sample.labels["le"]): sample.value
        for family in metric.collect()
        for sample in family.samples
        if sample.name.endswith("_bucket")
    }


def _dead_letters() -> list[dict[str, Any]]:
    counted: Counter[tuple[str, str]] = Counter()
    for family in DEAD_LETTERS.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                counted[sample.labels["topic"], sample.labels["code"]] += int(sample.value)
    return [
        {"topic": topic, "code": code, "count": count}
        for (topic, code), count in sorted(counted.items())
    ]
