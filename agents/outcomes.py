"""internal.decisions and signals → joined; what comes of it waits in the outbox."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery
from agents.events import EventsAgent, TooOldError, trust
from agents.guard import Guard
from agents.metrics import DEAD_LETTERS, DUPLICATES, LABEL_SECONDS, LABELS, OUTCOMES, PARKED
from agents.tenant_labels import TenantLabels
from learning.labelling import Labeller
from models import Decision, Record, Signal
from storage.joins import REMEMBERED, Heard, Joined, Joins, Origin
from topics.headers import REDACTED, Headers, pairs

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=Signal)

SLACK = timedelta(hours=1)
"""So much longer than need be it is known what was seen: clocks differ, and batches wait."""


class Outcomes:
    """Joins searches with what happened after them, and counts what that came to."""

    def __init__(
        self,
        joins: Joins,
        labeller: Labeller,
        clock: Clock,
        remembered: timedelta = REMEMBERED,
        labels: TenantLabels | None = None,
    ) -> None:
        self.joins = joins
        self.labels = labels or TenantLabels(0)
        self.remembered = remembered
        self._labeller = labeller
        self._clock = clock
        self.news = asyncio.Event()
        """Set when there is something new in the outbox."""

    def remembers(self, delivery: Delivery) -> bool:
        """Tell whether it would be known if this message had been seen before."""
        return delivery.at >= self._clock() - self.remembered

    async def forget_seen(self, most: int) -> int:
        """Forget what is so old that it would not be taken again; return how much there was."""
        return await self.joins.forget_seen(self._clock() - self.remembered - SLACK, most)

    async def decide(self, events: Sequence[tuple[Delivery, Decision]]) -> None:
        """Open searches."""
        decided = [
            self._labeller.decided(decision, delivery.at, _trace(delivery), delivery.value)
            for delivery, decision in events
        ]
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
        PARKED.inc(joined.parked)
        for waited_s in joined.waited_s:
            LABEL_SECONDS.observe(waited_s)
        LABELS.labels(revision="first").inc(len(joined.waited_s))
        LABELS.labels(revision="corrected").inc(joined.corrected)
        for (tenant_id, outcome), number in joined.outcomes.items():
            OUTCOMES.labels(tenant=self.labels.of(tenant_id), outcome=outcome).inc(number)
        for (topic, reason), number in joined.dead.items():
            DEAD_LETTERS.labels(topic=topic, code=reason).inc(number)
        if joined.waited_s or joined.corrected or joined.dead:
            self.news.set()


class JoiningAgent(EventsAgent[R]):
    """Takes what is young enough that a second delivery of it would be noticed."""

    _outcomes: Outcomes

    def _check(self, delivery: Delivery, event: R, headers: Headers) -> None:
        super()._check(delivery, event, headers)
        if not self._outcomes.remembers(delivery):
            days = self._outcomes.remembered / timedelta(days=1)
            raise TooOldError(f"it was written over {days:g} days ago (INBOX_RETENTION_S)")


class DecisionsAgent(JoiningAgent[Decision]):
    """Opens searches for what happens after them."""

    _own = True

    def __init__(self, outcomes: Outcomes, dead_letters: DeadLetters) -> None:
        super().__init__(Decision, trust, dead_letters)
        self._outcomes = outcomes

    async def _take(self, events: Sequence[tuple[Delivery, Decision]]) -> None:
        await self._outcomes.decide(events)


class SignalsAgent(JoiningAgent[S]):
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


def _trace(delivery: Delivery) -> str | None:
    """Return the trace of a search; memstream wrote the message, and only what is worth keeping."""
    return Headers.parse(delivery.headers).traceparent


def _origin(delivery: Delivery) -> Origin:
    headers = tuple(
        # A signal may wait in the store; its token is not to be found there.
        (name, REDACTED if name.lower() == "authorization" else value)
        for name, value in pairs(delivery.headers)
    )
    return Origin(
        delivery.topic, delivery.partition, delivery.offset, delivery.key, delivery.value, headers
    )
