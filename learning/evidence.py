"""All that lessons taught: of the choices at each point, and of the ranker."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from learning.advantages import Advantages
from learning.arrays import Floats
from learning.config import LearningConfig
from learning.lessons import Lesson
from learning.listwise import Ranker, lists_of
from learning.logged import Logged

RANKER: Final = "ranker"
"""The part that is the ranker; the other parts are the points of choices."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a policy follows from, part by part."""

    points: Mapping[str, Advantages] = field(default_factory=dict)
    ranker: Ranker = field(default_factory=Ranker)

    @classmethod
    def none(cls, prior: Mapping[str, float]) -> Self:
        """Return the evidence of no lesson."""
        return cls({}, Ranker.fresh(prior))

    def after(
        self,
        seen: Mapping[str, Logged],
        lessons: Sequence[Lesson],
        curve: Floats,
        prior: Mapping[str, float],
        config: LearningConfig,
    ) -> Self:
        """Return the evidence of more lessons, whose choices are given too."""
        old = self.scaled(config.forgetting)
        points = dict(old.points)
        for point, logged in seen.items():
            points[point] = points.get(point, Advantages()).after(logged, config)
        ranker = old.ranker.about(tuple(sorted(prior)))
        lists = lists_of(lessons, ranker.features, curve, config)
        if lists is not None:
            ranker = ranker.after(lists, prior, config)
        return type(self)(points, ranker)

    def settled(self, baseline: float) -> Self:
        """Return the evidence as it is kept and shared: it no longer depends on the baseline."""
        return replace(
            self, points={name: point.settled(baseline) for name, point in self.points.items()}
        )

    def with_part(self, part: str, other: Self) -> Self:
        """Return the evidence with one part taken from another."""
        if part == RANKER:
            return replace(self, ranker=other.ranker)
        return replace(self, points={**self.points, part: other.points[part]})

    def without(self, parts: Collection[str]) -> Self:
        """Return the evidence of the other parts."""
        points = {name: point for name, point in self.points.items() if name not in parts}
        ranker = self.ranker
        if RANKER in parts:
            ranker = ranker.scaled(0.0)
        return type(self)(points, ranker)

    def scaled(self, by: float) -> Self:
        """Return the same as if every lesson had counted so much."""
        if by == 1.0:
            return self
        points = {name: point.scaled(by) for name, point in self.points.items()}
        return type(self)(points, self.ranker.scaled(by))

    def capped(self, lessons: float, list_uses: float) -> Self:
        """Return the same with no part counting for more lessons, or for more uses, than that."""
        points = {
            name: point.scaled(min(1.0, lessons / max(point.lessons, 1.0)))
            for name, point in self.points.items()
        }
        return type(self)(points, self.ranker.capped(lessons, list_uses))

    def plus(self, other: Self) -> Self:
        """Return the evidence of both."""
        points = dict(self.points)
        for name in sorted(other.points):
            mine, theirs = points.get(name), other.points[name]
            points[name] = theirs if mine is None else mine.plus(theirs)
        ranker = self.ranker
        if not ranker.features:
            ranker = ranker.about(other.ranker.features)
        return type(self)(points, ranker.plus(other.ranker))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that there is evidence for."""
        return (*sorted(self.points), *((RANKER,) if self.ranker.lessons > 0 else ()))

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        points = {name: self.points[name].dump() for name in sorted(self.points)}
        return {"points": points, "ranker": self.ranker.dump()}

    @classmethod
    def load(cls, value: dict[str, Any]) -> Self:
        """Return what was dumped."""
        points = {name: Advantages.load(point) for name, point in value["points"].items()}
        return cls(points, Ranker.load(value["ranker"]))


def total(several: Iterable[Evidence]) -> Evidence:
    """Return the evidence of all, added up in the order given."""
    found = Evidence()
    for one in several:
        found = found.plus(one)
    return found
