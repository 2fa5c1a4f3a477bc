"""context.usage → counted, and joined."""

from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.events import EventsAgent
from agents.guard import Guard
from agents.metrics import NOT_FOUND
from agents.outcomes import Outcomes
from models import ContextUsage
from storage import Store, Use


class UsageAgent(EventsAgent[ContextUsage]):
    """Counts which memories were used: unlike being returned, that is evidence of their value.

    It is also what came of a search. Counting and joining have each seen an event or not, so after
    a failure between the two only the second is done again.
    """

    def __init__(
        self,
        store: Store,
        dead_letters: DeadLetters,
        guard: Guard | None = None,
        outcomes: Outcomes | None = None,
    ) -> None:
        super().__init__(ContextUsage, (guard or Guard()).admit_signal, dead_letters)
        self._store = store
        self._outcomes = outcomes

    async def _take(self, events: Sequence[tuple[Delivery, ContextUsage]]) -> None:
        missing = await self._store.use([Use(usage, delivery.at) for delivery, usage in events])
        NOT_FOUND.inc(missing)
        if self._outcomes:
            await self._outcomes.hear(events)
