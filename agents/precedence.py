"""Searches first, then what happened after them, as far as both are at hand.

A signal that comes before its search waits in the store, which costs as much again as joining it.
Signals are short and searches are long, so that a worker with much to catch up on would be through
with all signals before it has half of the searches. Only what is at hand here counts: nobody waits
for another worker, or for what the broker has not given yet.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

LOOK_AGAIN_S = 0.1
"""A rebalance takes away what was at hand, and tells nobody here."""


class Turns(Protocol):
    """When batches of a stream may be handled."""

    def turn(self, events: Sequence[Any], behind: Any) -> AbstractAsyncContextManager[None]:
        """Wait for the turn of these events, which lasts until they are handled.

        Others are at hand in the queue behind them.
        """


class AtOnce:
    """Every batch may be handled at once."""

    @asynccontextmanager
    async def turn(self, events: Sequence[Any], behind: Any) -> AsyncIterator[None]:
        """Begin."""
        yield


class Leading:
    """Never waits, and tells those who follow how far it is."""

    def __init__(self) -> None:
        self._oldest = 0.0
        self._in_hand = 0
        self._behind: Any = None
        self._handled = 0
        self._went_on = asyncio.Event()

    @asynccontextmanager
    async def turn(self, events: Sequence[Any], behind: Any) -> AsyncIterator[None]:
        """Begin, and let those go on afterwards who waited for this."""
        self._oldest = min(map(_written_at, events))
        self._in_hand, self._behind = len(events), behind
        try:
            yield
        finally:
            self._handled += len(events)
            self._in_hand = 0
            self._went_on.set()
            self._went_on = asyncio.Event()

    async def passed(self, moment: float) -> None:
        """Wait until nothing is at hand that was written before a moment.

        What comes to hand meanwhile is not waited for: who sends a signal says when it was written,
        and nobody's signal may wait for ever and hold up those of others.
        """
        last = self._handled + self._at_hand
        while self._at_hand and self._handled < last and self._oldest <= moment:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._went_on.wait(), LOOK_AGAIN_S)

    @property
    def _at_hand(self) -> int:
        return self._in_hand + (self._behind.qsize() if self._behind is not None else 0)


class Following:
    """Waits for what leads."""

    def __init__(self, leading: Leading) -> None:
        self._leading = leading

    @asynccontextmanager
    async def turn(self, events: Sequence[Any], behind: Any) -> AsyncIterator[None]:
        """Wait until what leads has come to these events."""
        # The oldest of them: if the newest counted, a batch would wait for the whole of its time.
        await self._leading.passed(min(map(_written_at, events)))
        yield


def _written_at(event: Any) -> float:
    """Return when a message was written, in seconds; one that does not say so is the oldest."""
    return event.message.timestamp or 0.0
