"""items → embedded → stored."""

from collections.abc import Sequence

import structlog

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.guard import Guard
from agents.metrics import MESSAGES
from agents.patience import until_available
from models import Item
from retrieval.ingest import Ingest
from topics import DecodeError, Headers, RefusedError, check_key, decode

log = structlog.get_logger(__name__)

Read = tuple[Delivery, Item]


class ItemsAgent:
    """Stores what services want remembered."""

    def __init__(
        self, ingest: Ingest, dead_letters: DeadLetters, guard: Guard | None = None
    ) -> None:
        self._ingest = ingest
        self._dead_letters = dead_letters
        self._guard = guard or Guard()

    async def __call__(self, batch: Sequence[Delivery]) -> None:
        """Store a batch; what cannot be read, is not allowed or fails becomes a dead letter."""
        items = [read for delivery in batch if (read := await self._read(delivery))]
        try:
            await self._store(items)
        except Exception as error:
            log.warning("batch failed, storing one by one", size=len(items), reason=repr(error))
            await self._store_one_by_one(items)
        for delivery in batch:
            MESSAGES.labels(topic=delivery.topic).inc()

    async def _read(self, delivery: Delivery) -> Read | None:
        headers = Headers.parse(delivery.headers)
        try:
            check_key(delivery.key)
            item = decode(Item, delivery.value, headers)
            self._guard.admit_item(delivery, item, headers)
            return delivery, item
        except (DecodeError, RefusedError) as error:
            await self._dead_letters.keep(delivery, error.code, error.message)
            return None

    async def _store(self, items: Sequence[Read]) -> None:
        if items:
            received = [(item, delivery.at) for delivery, item in items]
            await until_available(items[0][0].topic, lambda: self._ingest.store(received))

    async def _store_one_by_one(self, items: Sequence[Read]) -> None:
        for read in items:
            try:
                await self._store([read])
            except Exception as error:
                log.exception("item failed", offset=read[0].offset, partition=read[0].partition)
                await self._dead_letters.keep(read[0], "internal", repr(error))
