"""context.usage → counted."""

from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.events import EventsAgent
from agents.guard import Guard
from agents.metrics import NOT_FOUND
from models import ContextUsage
from storage import Store, Use


class UsageAgent(EventsAgent[ContextUsage]):
    """Counts which memories were used: unlike being returned, that is evidence of their value."""

    def __init__(self, store: Store, dead_letters: DeadLetters, guard: Guard | None = None) -> None:
        super().__init__(ContextUsage, (guard or Guard()).admit_signal, dead_letters)
        self._store = store

    async def _take(self, events: Sequence[tuple[Delivery, ContextUsage]]) -> None:
        missing = await self._store.use([Use(usage, delivery.at) for delivery, usage in events])
        NOT_FOUND.inc(missing)
