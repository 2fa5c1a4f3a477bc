"""What a decomposition was given, and what it has found so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from models import InForce, SearchRequest
from models.actions import Aggregation, Entities, SearchLayer
from models.memories import Layer
from retrieval.choosing import Chooser
from retrieval.decomposition.budget import Budget
from retrieval.decomposition.candidates import Asking
from retrieval.decomposition.follow_ups import FollowUp
from retrieval.decomposition.policy import Context, Move
from retrieval.fusion import Scored
from retrieval.plan import Plan
from retrieval.ranking import Evidence
from retrieval.reasoning import Reasoned
from storage import Asked

MANY_SEARCHES: Final = 10
MANY_FOUND: Final = 1_000
"""From so many on, more make no difference to what is done next."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request to take apart."""

    request: SearchRequest
    own: InForce
    plan: Plan
    at: datetime
    deadline: float
    """By the monotonic clock."""
    chooser: Chooser
    """Makes what choices there are."""


@dataclass(frozen=True)
class Planned:
    """A search to be made."""

    action: SearchLayer
    words: Asked
    best: int
    around: int
    depth: int = 0
    group: str | None = None
    """The side of a comparison it belongs to."""
    follow_up: FollowUp | None = None
    is_topic: bool = False
    """Whether it asks what the question is about, apart from whom."""
    is_reworded: bool = False
    """Whether it asks for the same in other words."""


@dataclass(frozen=True)
class Searched(Planned):
    """A search that was made, and what it brought."""

    evidence: Evidence = field(kw_only=True)

    @cached_property
    def asking(self) -> Asking:
        """The search as ranking sees it."""
        return Asking(self.evidence, self.action.query, self.best)


@dataclass
class State:
    """Everything the next move is chosen by."""

    task: Task
    reasoned: Reasoned
    budget: Budget
    context: Context
    made: list[Move] = field(default_factory=list)
    searches: list[Searched] = field(default_factory=list)
    within: tuple[Layer, tuple[str, ...]] | None = None
    """The entities that a drill-down led to."""
    ranked: tuple[int, list[Scored]] | None = None
    """After how many searches what was found was last ranked, and how."""
    cited: list[str] = field(default_factory=list)
    """Memories that a language model found telling, in the order in which it did."""
    max_age: timedelta | None = None
    min_score: float = 0.0
    stopped_by: str | None = None
    """What ended it, or a part of it, before it was done."""
    is_degraded: bool = False

    @property
    def found(self) -> int:
        """How many memories were found so far, counted once for each search."""
        return sum(len(one.evidence.hits) for one in self.searches)

    def so_far(self) -> dict[str, float]:
        """Return what the next move may be chosen by besides the kind of question."""
        return {
            "searches": min(len(self.searches) / MANY_SEARCHES, 1.0),
            "found": min(self.found / MANY_FOUND, 1.0),
        }

    def several_layers(self) -> tuple[Layer, ...]:
        """Return the layers that the question sets side by side, none if it names only one."""
        allowed = self.task.plan.layers
        named = [
            layer for layer in self.reasoned.layers or () if allowed is None or layer in allowed
        ]
        return tuple(named) if len(named) > 1 else ()

    def stop(self, reason: str) -> None:
        """Say what kept it from being done; what came first counts."""
        self.stopped_by = self.stopped_by or reason
        self.is_degraded = True

    def recent(self, ranked: Sequence[Scored]) -> Sequence[Scored]:
        """Return what is not too old."""
        if self.max_age is None:
            return ranked
        oldest = self.task.at - self.max_age
        return [one for one in ranked if one.hit.created_at >= oldest]

    def relevant(self, ranked: Sequence[Scored]) -> Sequence[Scored]:
        """Return what is not too far behind."""
        return [one for one in ranked if one.score >= self.min_score]

    @property
    def aggregation(self) -> Aggregation:
        """How what was found becomes one result."""
        by_context: Mapping[Context, Aggregation] = {
            "comparing": "compare",
            "summarizing": "summarize",
            "finding": "combine",
        }
        return by_context[self.context]

    def narrowed(self) -> Entities | None:
        """Return the entities that further searches keep to."""
        return None if self.within is None else {self.within[0]: self.within[1]}


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of a decomposition."""

    scored: list[Scored]
    first: Evidence
    """What the question itself found."""
    fallback: str | None
    is_degraded: bool


class NothingFoundError(Exception):
    """A decomposition ended before its first search; the message says by what."""
