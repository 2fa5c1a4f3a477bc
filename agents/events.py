"""Reads a topic of events, in batches: what can be done is done, what cannot is kept."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

import structlog
from structlog.contextvars import bound_contextvars

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.handling import handling_all, ids_in
from agents.metrics import MESSAGES
from agents.patience import until_available
from models import Record
from topics import DecodeError, Headers, RefusedError, check_key, decode

log = structlog.get_logger(__name__)

E = TypeVar("E", bound=Record)

Admit = Callable[[Delivery, E, Headers], None]
"""Raises RefusedError for an event that its token does not allow."""


class TooOldError(Exception):
    """A message is so old that nobody would know if it had been seen before."""

    code = "late"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def trust(_: Delivery, __: Record, ___: Headers) -> None:
    """Let through what memstream wrote itself, when the request had been let through."""


class EventsAgent(ABC, Generic[E]):
    """Takes events that nobody waits for; what is done with them, each kind of it says."""

    _own = False
    """Whether memstream wrote the events itself."""

    def __init__(self, model: type[E], admit: Admit[E], dead_letters: DeadLetters) -> None:
        self._model = model
        self._admit = admit
        self._dead_letters = dead_letters

    @abstractmethod
    async def _take(self, events: Sequence[tuple[Delivery, E]]) -> None:
        """Do what the events ask for, all or nothing; it may be done again."""

    async def __call__(self, batch: Sequence[Delivery]) -> None:
        """Take a batch; what cannot be read, is not allowed or fails becomes a dead letter."""
        with handling_all(batch):
            events: list[tuple[Delivery, E]] = []
            dead: list[Awaitable[None]] = []
            for delivery in batch:
                event: E | None = None
                try:
                    headers = Headers.parse(delivery.headers)
                    event = self._read(delivery, headers)
                    self._check(delivery, event, headers)
                    events.append((delivery, event))
                except (DecodeError, RefusedError, TooOldError) as error:
                    whose = ids_in(event or getattr(error, "ids", None))
                    dead.append(self._keep(delivery, error.code, error.message, whose))
            # All at once: a hundred dead letters take no longer than one.
            await asyncio.gather(*dead)
            try:
                await self._take_patiently(events)
            except Exception as error:
                why = type(error).__name__
                log.warning("batch failed, taking one by one", size=len(events), reason=why)
                await self._take_one_by_one(events)
        MESSAGES.labels(topic=batch[0].topic).inc(len(batch))

    def _read(self, delivery: Delivery, headers: Headers) -> E:
        """Return the event, or raise what says why it cannot be read."""
        check_key(delivery.key)
        return decode(self._model, delivery.value, headers, own=self._own)

    def _check(self, delivery: Delivery, event: E, headers: Headers) -> None:
        """Raise what says why an event is not taken, if it is not."""
        self._admit(delivery, event, headers)

    async def _keep(
        self, delivery: Delivery, code: str, message: str, whose: Mapping[str, str]
    ) -> None:
        with bound_contextvars(**whose):
            await self._dead_letters.keep(delivery, code, message)

    async def _take_patiently(self, events: Sequence[tuple[Delivery, E]]) -> None:
        if events:
            await until_available(events[0][0].topic, lambda: self._take(events))

    async def _take_one_by_one(self, events: Sequence[tuple[Delivery, E]]) -> None:
        for read in events:
            delivery, event = read
            with bound_contextvars(**ids_in(event)):
                try:
                    await self._take_patiently([read])
                except Exception as error:
                    place = {"partition": delivery.partition, "offset": delivery.offset}
                    log.exception("event failed", topic=delivery.topic, **place)
                    await self._dead_letters.keep(delivery, "internal", repr(error))
