"""The arm that learns: its searches, signals, labels and policies go the way they go in service."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from learning.labelling import Labeller, Windows
from learning.rewards import RewardWeights
from memstream.clock import now
from memstream.parts import Models
from memstream.settings import Settings
from memstream.simulation.arms import Arm, Asked, Came, Result
from models import Decision, Trajectory
from storage import Store
from storage.joins import Heard, Message, Origin
from storage.policies import Pupil
from topics import Topic, TopicNames

MOST = 500
"""So many searches are settled, and messages relayed, at once, as in service."""
MOST_TENANTS = 10_000
MOST_EVENTS = 10_000
ROUND = timedelta(minutes=1)
"""So long a round takes: the window of a search nobody tells of ends some rounds later."""
_NOWHERE = Origin("simulation", 0, 0, None, None, ())


class LearningArm(Arm):
    """Searches, joins what happens with it, and learns, all but the broker as in service."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        models: Models,
        prior: Mapping[str, float],
        pupil: Pupil,
    ) -> None:
        super().__init__(settings, store, models, prior, store.policies)
        self._windows = Windows(
            timedelta(seconds=settings.outcome_window_s),
            timedelta(seconds=settings.correction_window_s),
        )
        rewards = RewardWeights(settings.reward_success, settings.reward_efficiency)
        names = TopicNames(settings.topic_prefix)
        self._trajectories = names.name(Topic.TRAJECTORIES)
        self._labeller = Labeller(self._windows, rewards, names, lambda: self.clock)
        self._store = store
        self._pupil = pupil
        self.clock: datetime = now()
        """The time of the rounds, which only ever goes on: learning forgets what is long over."""
        self.labels: Counter[str] = Counter()
        """How many searches came to what, by the trajectories."""
        self.late = 0
        """How many trajectories came too late to be learned from; there should be none."""

    async def ask(self, asked: Asked, seed: int, k: int) -> Came:
        """Return what comes of a question, and learn of it."""
        self.clock += ROUND
        request = asked.request(seed, k)
        answered = await self.answer(asked.query, request)
        came = self.came(asked, Result.of(answered))
        at, joins = self.clock, self._store.joins
        decided = self._labeller.decided(_at(answered.decision(), at), at)
        await joins.decide([decided], self._labeller, at)
        ids = (request.tenant_id, request.session_id, request.request_id)
        if signals := came.reaction.signals(*ids):
            heard = [Heard(signal, at, _NOWHERE) for signal in signals]
            await joins.hear(heard, self._labeller, at)
        await self._settle()
        return came

    async def share(self) -> None:
        """Let tenants learn from each other what they may."""
        if await self._store.policies.pool(self._pupil, self.clock, MOST_TENANTS):
            self.policies.forget_all()

    async def end(self) -> None:
        """Wait until every window is over, and learn of those that ended in silence."""
        self.clock += self._windows.outcome
        await self._settle()

    async def serving(self, tenant_id: str) -> tuple[int, Mapping[str, float]]:
        """Return which version serves a tenant, and by which weights."""
        found = await self._store.policies.serving(tenant_id)
        return (found.version, found.weights) if found else (0, {})

    async def events(self, tenant_id: str) -> Counter[str]:
        """Return how often what became of a tenant's policy."""
        history = await self._store.policies.history(tenant_id, MOST_EVENTS)
        return Counter(one.kind for one in history)

    async def _settle(self) -> None:
        """End the windows that are over, and learn from all that is labelled by now."""
        joins = self._store.joins
        while (await joins.settle(self.clock, self._labeller, self.clock, MOST)).settled >= MOST:
            pass
        labelled: list[Trajectory] = []

        async def read(messages: Sequence[Message]) -> Collection[int]:
            labelled.extend(
                Trajectory.model_validate_json(message.value or b"")
                for message in messages
                if message.topic == self._trajectories
            )
            return ()

        # What is learned may put something into the outbox as well.
        while await joins.relay(read, MOST, self.clock):
            await self._learn(labelled)
            labelled.clear()

    async def _learn(self, labelled: Sequence[Trajectory]) -> None:
        by_tenant: defaultdict[str, list[Trajectory]] = defaultdict(list)
        for one in labelled:
            by_tenant[one.tenant_id].append(one)
            self.labels[one.outcome.type] += 1
        for tenant_id, trajectories in by_tenant.items():
            learnt = await self._store.policies.learn(
                tenant_id, trajectories, self._pupil, self.clock
            )
            self.late += learnt.late
            if learnt.steps:
                self.policies.forget(tenant_id)


def _at(decision: Decision, at: datetime) -> Decision:
    """Return a search as one of this moment, not of the one that the dataset asks at."""
    actions = tuple(one.model_copy(update={"started_at": at}) for one in decision.actions)
    return decision.model_copy(
        update={"started_at": at, "completed_at": at, "actions": actions},
    )
