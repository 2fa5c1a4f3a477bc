"""internal.decisions and signals → joined; what comes of it waits in the outbox."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery
from agents.events import EventsAgent
from agents.guard import Guard
from agents.metrics import DEAD_LETTERS, DUPLICATES, LABEL_SECONDS, LABELS
from learning.labelling import Labeller
from models import Decision, Signal
from storage.joins import Heard, Joined, Joins, Origin
from topics import Headers
from topics.headers import REDACTED, pairs

S = TypeVar("S", bound=Signal)


class Outcomes:
    """Joins searches with what happened after them, and counts what that came to."""

    def __init__(self, joins: Joins, labeller: Labeller, clock: Clock) -> None:
        self.joins = joins
        self._labeller = labeller
        self._clock = clock
        self.news = asyncio.Event()
        """Set when there is something new in the outbox."""

    async def decide(self, events: Sequence[tuple[Delivery, Decision]]) -> None:
        """Open searches."""
        decided = [self._labeller.decided(decision, delivery.at) for delivery, decision in events]
        self._count(await self.joins.decide(decided, self._labeller, self._clock()))

    async def hear(self, events: Sequence[tuple[Delivery, Signal]]) -> None:
        """Apply signals of one kind."""
        heard = [Heard(signal, delivery.at, _origin(delivery)) for delivery, signal in events]
        self._count(await self.joins.hear(heard, self._labeller, self._clock()))

    async def settle(self, until: datetime, most: int) -> int:
        """Settle what was due when all events had been read; return how much there was."""
        joined = await self.joins.settle(until, self._labeller, self._clock(), most)
        self._count(joined)
        return joined.settled

    def _count(self, joined: Joined) -> None:
        DUPLICATES.inc(joined.duplicates)
        for waited_s in joined.waited_s:
            LABEL_SECONDS.observe(waited_s)
        LABELS.labels(revision="first").inc(len(joined.waited_s))
        LABELS.labels(revision="corrected").inc(joined.corrected)
        for (topic, reason), number in joined.dead.items():
            DEAD_LETTERS.labels(topic=topic, code=reason).inc(number)
        if joined.waited_s or joined.corrected or joined.dead:
            self.news.set()


class DecisionsAgent(EventsAgent[Decision]):
    """Opens searches for what happens after them."""

    # What memstream wrote itself may be larger than what it takes from others.
    _max_bytes = None

    def __init__(self, outcomes: Outcomes, dead_letters: DeadLetters) -> None:
        super().__init__(Decision, _trust, dead_letters)
        self._outcomes = outcomes

    async def _take(self, events: Sequence[tuple[Delivery, Decision]]) -> None:
        await self._outcomes.decide(events)


class SignalsAgent(EventsAgent[S]):
    """Joins signals of one kind, and does nothing else with them."""

    def __init__(
        self,
        model: type[S],
        outcomes: Outcomes,
        dead_letters: DeadLetters,
        guard: Guard | None = None,
    ) -> None:
        super().__init__(model, (guard or Guard()).admit_signal, dead_letters)
        self._outcomes = outcomes

    async def _take(self, events: Sequence[tuple[Delivery, S]]) -> None:
        await self._outcomes.hear(events)


def _trust(_: Delivery, __: Decision, ___: Headers) -> None:
    """Let through what memstream wrote itself, when the request had been let through."""


def _origin(delivery: Delivery) -> Origin:
    headers = tuple(
        # A signal may wait in the store; its token is not to be found there.
        (name, REDACTED if name.lower() == "authorization" else value)
        for name, value in pairs(delivery.headers)
    )
    return Origin(
        delivery.topic, delivery.partition, delivery.offset, delivery.key, delivery.value, headers
    )
