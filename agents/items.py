"""items → embedded → stored."""

from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.events import EventsAgent
from agents.guard import Guard
from models import Item
from retrieval.ingest import Ingest


class ItemsAgent(EventsAgent[Item]):
    """Stores what services want remembered."""

    def __init__(
        self, ingest: Ingest, dead_letters: DeadLetters, guard: Guard | None = None
    ) -> None:
        super().__init__(Item, (guard or Guard()).admit_item, dead_letters)
        self._ingest = ingest

    async def _take(self, events: Sequence[tuple[Delivery, Item]]) -> None:
        await self._ingest.store([(item, delivery.at) for delivery, item in events])
