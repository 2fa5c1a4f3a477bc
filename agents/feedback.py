"""feedback → checked, and joined."""

from collections import defaultdict
from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.guard import Guard
from agents.metrics import NOT_FOUND
from agents.outcomes import Outcomes, SignalsAgent
from models import Feedback
from storage import Store


class FeedbackAgent(SignalsAgent[Feedback]):
    """Checks what was said of results, and counts what names a memory the tenant does not have."""

    def __init__(
        self,
        store: Store,
        outcomes: Outcomes,
        dead_letters: DeadLetters,
        guard: Guard | None = None,
    ) -> None:
        super().__init__(Feedback, outcomes, dead_letters, guard)
        self._store = store

    async def _take(self, events: Sequence[tuple[Delivery, Feedback]]) -> None:
        judged: defaultdict[str, list[str]] = defaultdict(list)
        for _, feedback in events:
            if feedback.memory_id is not None:
                judged[feedback.tenant_id].append(feedback.memory_id)
        missing = 0
        for tenant_id, memory_ids in judged.items():
            known = await self._store.counts(tenant_id, memory_ids)
            missing += sum(memory_id not in known for memory_id in memory_ids)
        NOT_FOUND.inc(missing)
        await super()._take(events)
