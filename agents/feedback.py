"""feedback → checked, and joined."""

from collections import defaultdict
from collections.abc import Sequence

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery
from agents.events import EventsAgent
from agents.guard import Guard
from agents.metrics import NOT_FOUND
from agents.outcomes import Outcomes
from models import Feedback
from storage import Store


class FeedbackAgent(EventsAgent[Feedback]):
    """Checks what was said of results, and counts what names a memory the tenant does not have."""

    def __init__(
        self,
        store: Store,
        dead_letters: DeadLetters,
        guard: Guard | None = None,
        outcomes: Outcomes | None = None,
    ) -> None:
        super().__init__(Feedback, (guard or Guard()).admit_signal, dead_letters)
        self._store = store
        self._outcomes = outcomes

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
        if self._outcomes:
            await self._outcomes.hear(events)
