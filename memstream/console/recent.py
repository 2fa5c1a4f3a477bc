"""The newest labelled trajectories, in bounded memory: what the console tells of searches."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest
from typing import Any, NamedTuple

from models import Trajectory
from topics import DecodeError, decode

MOST_TENANTS = 100
"""Of so many tenants, those heard of last."""

MOST_EACH = 500
"""So many searches of each."""

MOST_BEHIND = 1000
"""So many of a partition are taken in when somebody begins to look; it takes long enough."""

MOST_BYTES = 16 * 1024 * 1024
"""So much of the whole trajectories, the newest of all tenants together; a usual one has 10 kB."""

SHOWN_CHARACTERS = 200
"""So much of a query is enough to know it again."""

UNLIKELY = 0.5
"""What was chosen with a lower probability was tried out rather than thought best."""


class Label(NamedTuple):
    """What was known of a search at a moment."""

    revision: int
    outcome: str
    reward: float
    at: str


class Seen(NamedTuple):
    """A search in a few words."""

    tenant_id: str
    trajectory_id: str
    session_id: str
    query: str
    route: str
    fallback: str | None
    outcome: str
    reward: float
    trainable: bool
    revision: int
    policy_version: int
    tokens_used: int
    max_depth: int
    result_count: int
    actions: int
    duration_ms: float
    tried: bool
    """Whether something was chosen that the policy did not think best."""
    completed_at: str
    labelled_at: str
    labels: tuple[Label, ...]

    def told(self) -> dict[str, Any]:
        """Return it for a list."""
        return {name: value for name, value in self._asdict().items() if name != "labels"}


class Recent:
    """Keeps each tenant's newest searches, each as it was labelled last."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, OrderedDict[str, Seen]] = OrderedDict()
        self._whole: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0

    def begin(self, _: Mapping[Any, int]) -> None:
        """Forget all."""
        self._tenants.clear()
        self._whole.clear()
        self._bytes = 0

    def take(self, message: Any, behind: int) -> None:
        """Take a message of the topic in; what is not a trajectory of this version is left out."""
        if behind >= MOST_BEHIND:
            return
        try:
            trajectory = decode(Trajectory, message.value, own=True)
        except DecodeError:
            return
        tenant = self._tenants.setdefault(trajectory.tenant_id, OrderedDict())
        known = tenant.pop(trajectory.trajectory_id, None)
        if known and known.revision > trajectory.revision:
            tenant[trajectory.trajectory_id] = known
            return
        labels = (
            [one for one in known.labels if one.revision < trajectory.revision] if known else []
        )
        tenant[trajectory.trajectory_id] = seen(trajectory, labels)
        self._keep(trajectory.tenant_id, trajectory.trajectory_id, message.value)
        self._tenants.move_to_end(trajectory.tenant_id)
        if len(tenant) > MOST_EACH:
            tenant.popitem(last=False)
        if len(self._tenants) > MOST_TENANTS:
            self._tenants.popitem(last=False)

    def _keep(self, tenant_id: str, trajectory_id: str, value: bytes) -> None:
        self._bytes += len(value) - len(self._whole.pop((tenant_id, trajectory_id), b""))
        self._whole[tenant_id, trajectory_id] = value
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._whole.popitem(last=False)[1])

    def tenants(self) -> list[str]:
        """Return the tenants that there is something of, the one heard of last first."""
        return list(reversed(self._tenants))

    def of(self, tenant_id: str) -> list[Seen]:
        """Return a tenant's searches in the order of their completion."""
        return sorted(self._tenants.get(tenant_id, {}).values(), key=lambda one: one.completed_at)

    def everything(self) -> Iterator[Seen]:
        """Yield the searches of all tenants."""
        for tenant in self._tenants.values():
            yield from tenant.values()

    def found(
        self, tenant_id: str | None, route: str | None, outcome: str | None, limit: int
    ) -> list[Seen]:
        """Return the newest of the searches that are meant."""
        among: Iterable[Seen] = self.everything() if tenant_id is None else self.of(tenant_id)
        meant = (
            one for one in among if route in (None, one.route) and outcome in (None, one.outcome)
        )
        return nlargest(limit, meant, key=lambda one: (one.completed_at, one.trajectory_id))

    def one(self, tenant_id: str, trajectory_id: str) -> Seen | None:
        """Return one of a tenant's searches in a few words, if it is among the newest."""
        tenant = self._tenants.get(tenant_id)
        return None if tenant is None else tenant.get(trajectory_id)

    def whole(self, known: Seen) -> Trajectory | None:
        """Return all of a search; None if that much of it was too long ago to be kept."""
        value = self._whole.get((known.tenant_id, known.trajectory_id))
        return None if value is None else decode(Trajectory, value, own=True)


def seen(trajectory: Trajectory, labels: list[Label]) -> Seen:
    """Return a search in a few words, after what was known of it before."""
    took = trajectory.completed_at - trajectory.started_at
    label = Label(
        trajectory.revision,
        trajectory.outcome.type,
        trajectory.reward,
        trajectory.labelled_at.isoformat(),
    )
    return Seen(
        tenant_id=trajectory.tenant_id,
        trajectory_id=trajectory.trajectory_id,
        session_id=trajectory.session_id,
        query=trajectory.query[:SHOWN_CHARACTERS],
        route=trajectory.route,
        fallback=trajectory.fallback,
        outcome=trajectory.outcome.type,
        reward=trajectory.reward,
        trainable=trajectory.trainable,
        revision=trajectory.revision,
        policy_version=trajectory.policy_version,
        tokens_used=trajectory.tokens_used,
        max_depth=trajectory.max_depth,
        result_count=trajectory.result_count,
        actions=len(trajectory.actions),
        duration_ms=1000 * took.total_seconds(),
        tried=any(one.propensity < UNLIKELY for one in trajectory.actions),
        completed_at=trajectory.completed_at.isoformat(),
        labelled_at=trajectory.labelled_at.isoformat(),
        labels=(*labels, label),
    )


def mix(searches: Iterable[Seen], what: str) -> dict[str, int]:
    """Return how many searches there are of each outcome, or route."""
    return dict(sorted(Counter(getattr(one, what) for one in searches).items()))
