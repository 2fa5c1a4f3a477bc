"""Deadlines → settled, once everything that came before them has been read."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

import structlog

from agents.delivery import Clock
from agents.metrics import (
    CONSUMER_LAG,
    OPEN_TRAJECTORIES,
    OUTBOX_MESSAGES,
    OUTBOX_REFUSED,
    OUTBOX_SECONDS,
    PARKED_SIGNALS,
    PART_UP,
    READ_SECONDS,
    RETRIES,
)
from agents.outcomes import Outcomes

log = structlog.get_logger(__name__)

SWEEP_EVERY_S = 1.0
"""Windows are minutes; a second more or less is nothing."""

MOST = 500
"""So many in one transaction: some tens of milliseconds, for which searches may have to wait."""

HEALTH_EVERY = 5
"""Every so many sweeps the join is counted, which takes longer the more is open."""

FORGET_EVERY = 60
"""Every so many sweeps it is forgotten what was seen days ago."""

MOST_FORGOTTEN = 5_000
"""So many in one transaction: some tens of milliseconds, for which nobody waits."""


class Progress(Protocol):
    """Knows how far the join's input has been read."""

    async def read_until(self) -> datetime | None:
        """Return a moment such that all that was there then has been read; None if unknown."""

    @property
    def lag(self) -> Mapping[str, int]:
        """For each topic, how many messages had still to be read at the last look."""


class Sweeper:
    """Settles what is due; every worker has one, and they stay out of each other's way."""

    def __init__(self, outcomes: Outcomes, progress: Progress, clock: Clock) -> None:
        self._outcomes = outcomes
        self._progress = progress
        self._clock = clock
        self._until: datetime | None = None

    async def run(self) -> None:
        """Sweep for ever; what fails is tried again."""
        sweeps = 0
        while True:
            try:
                await self.sweep()
                if sweeps % HEALTH_EVERY == 0:
                    await self.look()
                if sweeps % FORGET_EVERY == 0:
                    await self.forget()
                sweeps += 1
            except Exception as error:
                RETRIES.labels(topic="sweeper").inc()
                log.warning("sweep failed, trying again", reason=repr(error))
            await asyncio.sleep(SWEEP_EVERY_S)

    async def sweep(self) -> None:
        """Settle all that was due when everything had been read."""
        try:
            with _asking("broker"):
                self._until = await self._progress.read_until()
        finally:
            # While the broker is away as well, or nobody would see how it gets longer.
            if self._until is not None:
                READ_SECONDS.set((self._clock() - self._until).total_seconds())
        for topic, left in self._progress.lag.items():
            CONSUMER_LAG.labels(topic=topic).set(left)
        if self._until is not None:
            with _asking("store"):
                while await self._outcomes.settle(self._until, MOST) >= MOST:
                    pass

    async def forget(self) -> None:
        """Forget which events were seen so long ago that they would not be taken again."""
        while await self._outcomes.forget_seen(MOST_FORGOTTEN) >= MOST_FORGOTTEN:
            pass

    async def look(self) -> None:
        """Tell how the join is doing."""
        health = await self._outcomes.joins.join_health()
        OPEN_TRAJECTORIES.set(health.open)
        PARKED_SIGNALS.set(health.parked)
        OUTBOX_MESSAGES.set(health.outbox)
        OUTBOX_REFUSED.set(health.refused)
        oldest_at = health.oldest_at
        OUTBOX_SECONDS.set((self._clock() - oldest_at).total_seconds() if oldest_at else 0)


@contextmanager
def _asking(part: str) -> Iterator[None]:
    """Tell whether a part answered."""
    try:
        yield
    except Exception:
        PART_UP.labels(part).set(0)
        raise
    PART_UP.labels(part).set(1)
