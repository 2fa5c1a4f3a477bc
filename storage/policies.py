"""What learning needs of a store: what a tenant was taught, what it is served by, and its history.

One transaction a batch of a tenant's trajectories holds what was seen, what was learned from it,
and what is to be published. What there is to learn, a pupil knows.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from models import ServingPolicy, Trajectory
from storage.joins import Message
from storage.lessons import Lesson, Notebook
from storage.worth import Worth

ORDERS = ("promote", "rollback", "bootstrap")
"""What operators can order."""


class Event(NamedTuple):
    """Something that became of a policy."""

    kind: str
    version: int
    told: str
    """All about it, as JSON."""


class Taught(NamedTuple):
    """What a pupil is after a step, and what that came to."""

    state: str
    """All it knows, in its own words."""
    version: int
    trained: int
    """How many lessons it has learned from."""
    exploration: float
    contribution: str | None
    """What of it others may learn from: weights and counts. None if nothing."""
    events: Sequence[Event] = ()
    values: Mapping[str, Worth] = {}
    """What became known of memories."""


class Pupil(Protocol):
    """Learns; plain arithmetic, called inside a transaction."""

    @property
    def step(self) -> int:
        """From how many lessons it learns at a time."""

    @property
    def correctable(self) -> timedelta:
        """How long after its end the outcome of a search may change."""

    def note(self, trajectory: Trajectory) -> str:
        """Return what a lesson needs of a trajectory."""

    def teach(self, state: str | None, lessons: Sequence[Lesson]) -> Taught:
        """Learn one step; without a state it begins."""

    def obey(self, state: str | None, order: str, actor: str, why: str, *, blended: bool) -> Taught:
        """Do what an operator ordered; raise OrderError if that cannot be done.

        Whether others' lessons serve the tenant as well, decides if there is anything to undo.
        """

    def gather(self, contributions: Iterable[str]) -> str:
        """Return what tenants have learned together, from what each gives in a fixed order."""

    def serve(self, state: str | None, pool: str | None, own: str | None) -> Mapping[str, float]:
        """Return the weights that serve a tenant, by what it and the others have learned.

        What the tenant itself gave to the pool is not to count twice.
        """

    def publication(self, policy: ServingPolicy) -> Message:
        """Return what tells the world of a policy."""


class OrderError(Exception):
    """An order cannot be carried out; the message says why."""


@dataclass(slots=True)
class Learnt:
    """What a batch came to."""

    kept: int = 0
    duplicates: int = 0
    late: int = 0
    steps: int = 0
    version: int = 0
    exploration: float = 0.0
    events: list[Event] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    """Those of the new lessons that teach something."""
    published: bool = False
    """Whether there is something new in the outbox."""


class PolicyState(NamedTuple):
    """A tenant's policy as it stands."""

    version: int
    trained: int
    steps: int
    exploration: float
    state: str | None
    """All that was learned, in the pupil's words; None before the first step."""
    weights: Mapping[str, float] | None
    served_at: datetime | None
    pending: int
    """How many lessons wait for the next step."""
    contributes: bool
    """Whether other tenants learn from it."""
    blended: bool
    """Whether it learns from other tenants."""


class Recorded(NamedTuple):
    """One entry of a policy's history."""

    at: datetime
    steps: int
    trained: int
    """How many lessons it had learned from."""
    kind: str
    version: int
    told: str
    ordered: str | None
    """What an operator ordered, if one did."""
    actor: str | None
    why: str | None


class Policies(Protocol):
    """Keeps what was learned for each tenant; one writer at a time, each lesson once."""

    async def learn(
        self, tenant_id: str, trajectories: Sequence[Trajectory], pupil: Pupil, at: datetime
    ) -> Learnt:
        """Keep new lessons of a tenant and learn from those that are enough, in one transaction."""

    async def serving(self, tenant_id: str) -> ServingPolicy | None:
        """Return what serves a tenant's searches; None if nothing was learned, by it or for it."""

    async def state(self, tenant_id: str) -> PolicyState | None:
        """Return a tenant's policy as it stands; None if there is none."""

    async def history(self, tenant_id: str, limit: int) -> Sequence[Recorded]:
        """Return what became of a tenant's policy, the newest first."""

    async def orders(self, tenant_id: str) -> Sequence[tuple[int, str]]:
        """Return after how many steps operators ordered what, in their order."""

    async def control(
        self, tenant_id: str, order: str, pupil: Pupil, at: datetime, *, actor: str, why: str
    ) -> Taught:
        """Carry out what an operator orders, in one transaction, and record who and why."""

    async def pool(self, pupil: Pupil, at: datetime, most: int) -> int:
        """Gather what tenants give, if that changed, and blend it into what they are served by.

        At most so many tenants at once; return how many there were. One worker gathers at a time.
        """


class Study:
    """Reads trajectories in their order, and learns whenever there are enough."""

    def __init__(
        self, pupil: Pupil, notebook: Notebook, state: str | None = None, steps: int = 0
    ) -> None:
        self._pupil = pupil
        self.notebook = notebook
        self.state = state
        self.steps = steps
        self.taught: Taught | None = None
        """What the last step or order came to."""
        self.events: list[tuple[int, int, Event]] = []
        """What happened, after how many steps and lessons."""
        self.values: list[Mapping[str, Worth]] = []
        """What each step adds to memories; one by one, so that batches do not change the sums."""
        self.kept = 0
        self.rewards: list[float] = []

    def read(self, trajectory: Trajectory) -> Taught | None:
        """Take one in; return what was learned if it was the last that was needed."""
        if not self.notebook.keep(trajectory, self._pupil.note(trajectory)):
            return None
        self.kept += 1
        if trajectory.trainable:
            self.rewards.append(trajectory.reward)
        lessons = self.notebook.take(self._pupil.step, self.steps + 1)
        if not lessons:
            return None
        self.steps += 1
        return self._became(self._pupil.teach(self.state, lessons))

    def obey(self, order: str, actor: str, why: str, *, blended: bool = True) -> Taught:
        """Do what an operator ordered; what is replayed could be done, whoever else served then."""
        taught = self._pupil.obey(self.state, order, actor, why, blended=blended)
        return self._became(taught)

    def _became(self, taught: Taught) -> Taught:
        self.taught, self.state = taught, taught.state
        self.events += [(self.steps, taught.trained, event) for event in taught.events]
        if taught.values:
            self.values.append(taught.values)
        return taught


def is_blended(pupil: Pupil, state: str | None, pool: str | None, own: str | None) -> bool:
    """Tell whether a tenant is served otherwise than by what it learned alone."""
    alone = pupil.serve(state, None, None)
    return pool is not None and pupil.serve(state, pool, own) != alone


def counted(study: Study, steps: int, *, published: bool) -> Learnt:
    """Return what a batch came to, of a tenant that had made so many steps."""
    taught = study.taught
    return Learnt(
        kept=study.kept,
        duplicates=study.notebook.duplicates,
        late=study.notebook.late,
        steps=study.steps - steps,
        version=taught.version if taught else 0,
        exploration=taught.exploration if taught else 0.0,
        events=[event for _, _, event in study.events],
        rewards=study.rewards,
        published=published,
    )


def recorded_rows(
    study: Study, at: datetime, order: str | None, actor: str | None, why: str | None
) -> list[tuple[Any, ...]]:
    """Return what goes into the history; of an order, one entry tells that it was one."""
    rows: list[tuple[Any, ...]] = []
    taught = study.taught
    if order and taught and not study.events:
        study.events.append((study.steps, taught.trained, Event(order, taught.version, "{}")))
    for steps, trained, event in study.events:
        first = order if not rows else None
        rows.append((at, steps, trained, *event, first, actor, why))
    return rows


def weights_text(weights: Mapping[str, float]) -> str:
    """Write weights so that they are read again to the last bit."""
    return json.dumps(dict(weights), sort_keys=True)


def read_weights(text: str) -> dict[str, float]:
    """Read weights."""
    weights: dict[str, float] = json.loads(text)
    return weights
