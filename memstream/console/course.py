"""The course of each tenant's rewards over a long time, in bounded memory."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import ValidationError

from models import Record
from models.quantities import Moment
from models.trajectories import OutcomeType

MOST_TENANTS = 100
"""Of so many tenants, those heard of last."""

MOST_BUCKETS = 240
"""So many stretches of time of each tenant: more than a chart has room for."""

MOST_LABELS = 20_000
"""Of so many searches it is known how they were counted, so that a correction replaces that."""

OUTCOMES: Final = get_args(OutcomeType)

Counted = tuple[int, float, str]
"""When a search was completed, in milliseconds, its reward and its outcome."""


class _Came(Record):
    type: OutcomeType


class _Glimpse(Record):
    """What a course needs of a trajectory: to read all of one takes eight times as long."""

    tenant_id: str
    trajectory_id: str
    revision: int
    reward: float
    outcome: _Came
    completed_at: Moment


class Bucket:
    """What became of the searches that were completed in a stretch of time."""

    __slots__ = ("count", "outcomes", "reward")

    def __init__(self) -> None:
        self.count = 0
        self.reward = 0.0
        self.outcomes = [0] * len(OUTCOMES)

    def add(self, reward: float, outcome: str, sign: int = 1) -> None:
        """Count one search, or with -1 no longer."""
        self.count += sign
        self.reward += sign * reward
        self.outcomes[OUTCOMES.index(outcome)] += sign

    def merge(self, other: "Bucket") -> None:
        """Count those of another stretch as well."""
        self.count += other.count
        self.reward += other.reward
        self.outcomes = [one + two for one, two in zip(self.outcomes, other.outcomes, strict=True)]


class TenantCourse:
    """One tenant's buckets; they become twice as wide whenever there are too many."""

    def __init__(self) -> None:
        self._width_ms = 1000
        self._buckets: dict[int, Bucket] = {}

    def add(self, counted: Counted, sign: int = 1) -> None:
        """Count one search where it belongs, or with -1 no longer."""
        at_ms, reward, outcome = counted
        place = at_ms // self._width_ms
        bucket = self._buckets.setdefault(place, Bucket())
        bucket.add(reward, outcome, sign)
        if not bucket.count:
            del self._buckets[place]
        while len(self._buckets) > MOST_BUCKETS:
            self._widen()

    def _widen(self) -> None:
        self._width_ms *= 2
        narrow, self._buckets = self._buckets, {}
        for place, bucket in narrow.items():
            self._buckets.setdefault(place // 2, Bucket()).merge(bucket)

    def told(self) -> dict[str, Any]:
        """Return the buckets in the order of time; each begins at its `at`, in milliseconds."""
        return {
            "width_ms": self._width_ms,
            "buckets": [
                {
                    "at": place * self._width_ms,
                    "searches": bucket.count,
                    "reward": bucket.reward / bucket.count,
                    "outcomes": dict(zip(OUTCOMES, bucket.outcomes, strict=True)),
                }
                for place, bucket in sorted(self._buckets.items())
            ],
        }


class _Label(NamedTuple):
    """How a search was counted, and where."""

    revision: int
    counted: Counted
    course: TenantCourse


class Course:
    """Counts every labelled search once, as it was labelled last."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, TenantCourse] = OrderedDict()
        self._labels: OrderedDict[tuple[str, str], _Label] = OrderedDict()
        self._read: dict[tuple[str, int], int] = {}

    def begin(self, ends: Mapping[Any, int]) -> None:
        """Go on where it stopped, unless the topic is another one than it was."""
        if any(end < self._read.get((at.topic, at.partition), 0) for at, end in ends.items()):
            for kept in (self._tenants, self._labels, self._read):
                kept.clear()

    def take(self, message: Any, behind: int) -> None:
        """Take a message of the topic in, if it was not taken before."""
        place = (message.topic, message.partition)
        if message.offset < self._read.get(place, 0):
            return
        self._read[place] = message.offset + 1
        try:
            seen = _Glimpse.model_validate_json(message.value or b"")
        except ValidationError:
            return
        name = (seen.tenant_id, seen.trajectory_id)
        before = self._labels.pop(name, None)
        if before and before.revision >= seen.revision:
            self._labels[name] = before
            return
        counted = (int(1000 * seen.completed_at.timestamp()), seen.reward, seen.outcome.type)
        tenant = self._tenants.setdefault(seen.tenant_id, TenantCourse())
        self._tenants.move_to_end(seen.tenant_id)
        # A tenant may have been forgotten since: what was counted then is not in its course now.
        if before and before.course is tenant:
            tenant.add(before.counted, -1)
        tenant.add(counted)
        self._labels[name] = _Label(seen.revision, counted, tenant)
        if len(self._labels) > MOST_LABELS:
            self._labels.popitem(last=False)
        if len(self._tenants) > MOST_TENANTS:
            self._tenants.popitem(last=False)

    def of(self, tenant_id: str) -> dict[str, Any]:
        """Return a tenant's course."""
        return self._tenants.get(tenant_id, TenantCourse()).told()
