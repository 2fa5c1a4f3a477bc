"""trajectories → learned from; the policies that follow wait in the outbox."""

import asyncio
from collections.abc import Sequence

import structlog
from structlog.contextvars import bound_contextvars

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery
from agents.events import EventsAgent, trust
from agents.metrics import LESSONS, POLICY_EVENTS, REWARD
from agents.serving import tell
from agents.tenant_labels import TenantLabels
from models import Trajectory
from storage.policies import Learnt, Policies, Pupil
from topics.traces import Attributes, span

log = structlog.get_logger(__name__)


class TrainingAgent(EventsAgent[Trajectory]):
    """Hands labelled searches to their tenants' pupils, in the order in which they came."""

    _own = True

    def __init__(
        self,
        policies: Policies,
        pupil: Pupil,
        dead_letters: DeadLetters,
        news: asyncio.Event,
        labels: TenantLabels,
        clock: Clock,
    ) -> None:
        super().__init__(Trajectory, trust, dead_letters)
        self._policies = policies
        self._pupil = pupil
        self._news = news
        self._labels = labels
        self._clock = clock

    async def _take(self, events: Sequence[tuple[Delivery, Trajectory]]) -> None:
        by_tenant: dict[str, list[Trajectory]] = {}
        for _, trajectory in events:
            by_tenant.setdefault(trajectory.tenant_id, []).append(trajectory)
        for tenant_id, trajectories in by_tenant.items():
            told: Attributes = {
                "memstream.tenant_id": tenant_id,
                "memstream.trajectories": len(trajectories),
            }
            with bound_contextvars(tenant_id=tenant_id), span("train", told) as training:
                learnt = await self._policies.learn(
                    tenant_id, trajectories, self._pupil, self._clock()
                )
                training.set({"memstream.steps": learnt.steps, "memstream.version": learnt.version})
                self._count(tenant_id, learnt)

    def _count(self, tenant_id: str, learnt: Learnt) -> None:
        LESSONS.labels("new").inc(learnt.kept)
        LESSONS.labels("known").inc(learnt.duplicates)
        LESSONS.labels("late").inc(learnt.late)
        tenant = self._labels.of(tenant_id)
        for reward in learnt.rewards:
            REWARD.labels(tenant).observe(reward)
        if learnt.steps:
            tell(tenant, learnt.version, learnt.exploration)
        for event in learnt.events:
            POLICY_EVENTS.labels(tenant, event.kind).inc()
            log.info("policy", what=event.kind, version=event.version)
        if learnt.published:
            self._news.set()
