"""Reads a topic of events, in batches: what can be done is done, what cannot is kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import structlog

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.metrics import MESSAGES
from agents.patience import until_available
from models import Record
from topics import DecodeError, Headers, RefusedError, check_key, decode
from topics.codec import MAX_VALUE_BYTES

log = structlog.get_logger(__name__)

E = TypeVar("E", bound=Record)

Admit = Callable[[Delivery, E, Headers], None]
"""Raises RefusedError for an event that its token does not allow."""


class EventsAgent(ABC, Generic[E]):
    """Takes events that nobody waits for; what is done with them, each kind of it says."""

    _max_bytes: int | None = MAX_VALUE_BYTES

    def __init__(self, model: type[E], admit: Admit[E], dead_letters: DeadLetters) -> None:
        self._model = model
        self._admit = admit
        self._dead_letters = dead_letters

    @abstractmethod
    async def _take(self, events: Sequence[tuple[Delivery, E]]) -> None:
        """Do what the events ask for, all or nothing; it may be done again."""

    async def __call__(self, batch: Sequence[Delivery]) -> None:
        """Take a batch; what cannot be read, is not allowed or fails becomes a dead letter."""
        events = [read for delivery in batch if (read := await self._read(delivery))]
        try:
            await self._take_patiently(events)
        except Exception as error:
            log.warning("batch failed, taking one by one", size=len(events), reason=repr(error))
            await self._take_one_by_one(events)
        for delivery in batch:
            MESSAGES.labels(topic=delivery.topic).inc()

    async def _read(self, delivery: Delivery) -> tuple[Delivery, E] | None:
        headers = Headers.parse(delivery.headers)
        try:
            check_key(delivery.key)
            event = decode(self._model, delivery.value, headers, max_bytes=self._max_bytes)
            self._admit(delivery, event, headers)
            return delivery, event
        except (DecodeError, RefusedError) as error:
            await self._dead_letters.keep(delivery, error.code, error.message)
            return None

    async def _take_patiently(self, events: Sequence[tuple[Delivery, E]]) -> None:
        if events:
            await until_available(events[0][0].topic, lambda: self._take(events))

    async def _take_one_by_one(self, events: Sequence[tuple[Delivery, E]]) -> None:
        for read in events:
            delivery, _ = read
            try:
                await self._take_patiently([read])
            except Exception as error:
                log.exception("event failed", offset=delivery.offset, partition=delivery.partition)
                await self._dead_letters.keep(delivery, "internal", repr(error))
