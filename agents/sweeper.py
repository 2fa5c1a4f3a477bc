"""Deadlines → settled, once everything that came before them has been read."""

import asyncio
from datetime import datetime
from typing import Protocol

import structlog

from agents.delivery import Clock
from agents.metrics import (
    OPEN_TRAJECTORIES,
    OUTBOX_MESSAGES,
    OUTBOX_SECONDS,
    PARKED_SIGNALS,
    READ_SECONDS,
    RETRIES,
)
from agents.outcomes import Outcomes

log = structlog.get_logger(__name__)

SWEEP_EVERY_S = 1.0
"""Windows are minutes; a second more or less is nothing."""

MOST = 500
"""So many in one transaction: some tens of milliseconds, for which searches may have to wait."""

HEALTH_EVERY = 15
"""Every so many sweeps the join is counted, which takes longer the more is open."""


class Progress(Protocol):
    """Knows how far the join's input has been read."""

    async def read_until(self) -> datetime | None:
        """Return a moment such that all that was there then has been read; None if unknown."""


class Sweeper:
    """Settles what is due; every worker has one, and they stay out of each other's way."""

    def __init__(self, outcomes: Outcomes, progress: Progress, clock: Clock) -> None:
        self._outcomes = outcomes
        self._progress = progress
        self._clock = clock

    async def run(self) -> None:
        """Sweep for ever; what fails is tried again."""
        sweeps = 0
        while True:
            try:
                await self.sweep()
                if sweeps % HEALTH_EVERY == 0:
                    await self.look()
                sweeps += 1
            except Exception as error:
                RETRIES.labels(topic="sweeper").inc()
                log.warning("sweep failed, trying again", reason=repr(error))
            await asyncio.sleep(SWEEP_EVERY_S)

    async def sweep(self) -> None:
        """Settle all that was due when everything had been read."""
        until = await self._progress.read_until()
        if until is None:
            return
        READ_SECONDS.set((self._clock() - until).total_seconds())
        while await self._outcomes.settle(until, MOST) >= MOST:
            pass

    async def look(self) -> None:
        """Tell how the join is doing."""
        health = await self._outcomes.joins.join_health()
        OPEN_TRAJECTORIES.set(health.open)
        PARKED_SIGNALS.set(health.parked)
        OUTBOX_MESSAGES.set(health.outbox)
        oldest_at = health.oldest_at
        OUTBOX_SECONDS.set((self._clock() - oldest_at).total_seconds() if oldest_at else 0)
