"""context.usage → counted, and joined."""

from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.guard import Guard
from agents.metrics import NOT_FOUND
from agents.outcomes import Outcomes, SignalsAgent
from models import ContextUsage
from storage import Store, Use


class UsageAgent(SignalsAgent[ContextUsage]):
    """Counts which memories were used: unlike being returned, that is evidence of their value.

    It is also what came of a search. Counting and joining have each seen an event or not, so after
    a failure between the two only the second is done again.
    """

    def __init__(
        self,
        store: Store,
        outcomes: Outcomes,
        dead_letters: DeadLetters,
        guard: Guard | None = None,
    ) -> None:
        super().__init__(ContextUsage, outcomes, dead_letters, guard)
        self._store = store

    async def _take(self, events: Sequence[tuple[Delivery, ContextUsage]]) -> None:
        missing = await self._store.use([Use(usage, delivery.at) for delivery, usage in events])
        NOT_FOUND.inc(missing)
        await super()._take(events)
