"""feedback → checked, and joined."""

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
        judged = [
            (feedback.tenant_id, feedback.memory_id)
            for _, feedback in events
            if feedback.memory_id is not None
        ]
        NOT_FOUND.inc(await self._store.unknown(judged))
        await super()._take(events)
