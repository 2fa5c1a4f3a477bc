"""The weights of the ranker, learned from which of the memories shown were used.

Each use is a choice among the memories of its list; what was used far down counts more often, as
few look there. What was learned before is a normal distribution: its mean, and how sure it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from learning.arrays import Floats, Integers, places, read, written
from learning.config import LearningConfig
from learning.lessons import Experience, Lesson
from learning.positions import places_of

STILL = 1e-9
"""Weights are found when nothing pulls harder."""

HALVINGS = 12
"""A step too far is halved so often at most."""


class Loss(NamedTuple):
    """A loss and its derivatives."""

    value: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists one below the other: a row for each memory, and how much it was used."""

    rows: Floats
    starts: Integers
    sizes: Integers
    weight: Floats
    lessons: float
    """How many more lists are learned than before."""

    def __len__(self) -> int:
        return len(self.sizes)

    def loss(self, weights: Floats) -> Loss:
        """Return the loss of weights: the log of how unlikely they make what was used."""
        scores = self.rows @ weights
        highest = np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes)
        odds = np.exp(scores - highest)
        total = np.repeat(np.add.reduceat(odds, self.starts), self.sizes)
        chance = odds / total
        uses = np.repeat(np.add.reduceat(self.weight, self.starts), self.sizes)
        value = float(self.weight @ (highest + np.log(total) - scores))
        mean = np.add.reduceat(chance[:, None] * self.rows, self.starts)
        apart = self.rows - np.repeat(mean, self.sizes, axis=0)
        gradient = apart.T @ (uses * chance - self.weight)
        # The sum over a list of what is expected less what was used is 0, so apart will do.
        hessian = apart.T @ ((uses * chance)[:, None] * apart)
        return Loss(value, gradient, hessian)


@dataclass(frozen=True, slots=True)
class Ranker:
    """What lists taught: precision, and precision times mean, both less the prior's."""

    features: tuple[str, ...] = ()
    lessons: float = 0.0
    uses: float = 0.0
    """How often memories of these lists would have been used, had all looked at them."""
    precision: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    weighted: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def fresh(cls, prior: Mapping[str, float]) -> Self:
        """Return a ranker that knows its prior only."""
        names = tuple(sorted(prior))
        return cls(names, 0.0, 0.0, np.zeros((len(names), len(names))), np.zeros(len(names)))

    def mean(self, prior: Mapping[str, float], config: LearningConfig) -> Floats:
        """Return the most likely weights, in the order of the features' names."""
        start, sure = self._start(prior, config)
        known = self.precision + np.diag(sure)
        found: Floats = np.linalg.solve(known, self.weighted + sure * start).astype(np.float64)
        return found

    def weights(self, prior: Mapping[str, float], config: LearningConfig) -> Floats:
        """Return the weights to rank by: the most likely, but never far from the prior."""
        start, _ = self._start(prior, config)
        limit = config.ranker_limit
        return start + np.clip(self.mean(prior, config) - start, -limit, limit)

    def after(self, lists: Lists, prior: Mapping[str, float], config: LearningConfig) -> Self:
        """Return what is known after more lists: Newton's steps from what was known."""
        start, sure = self._start(prior, config)
        known = self.precision + np.diag(sure)
        before = self.mean(prior, config)
        mean, here = before, lists.loss(before)
        for _ in range(config.newton_steps):
            pull = known @ (mean - before) + here.gradient
            if np.abs(pull).max() < STILL:
                break
            step = np.linalg.solve(_definite(known, here.hessian), pull)
            worth = here.value + _distance(mean - before, known)
            for _ in range(HALVINGS):
                there = lists.loss(mean - step)
                if there.value + _distance(mean - step - before, known) <= worth:
                    break
                step = step / 2
            mean, here = mean - step, there
        known = _definite(known, here.hessian)
        return type(self)(
            self.features,
            self.lessons + lists.lessons,
            self.uses + float(lists.weight.sum()),
            known - np.diag(sure),
            known @ mean - sure * start,
        )

    def scaled(self, by: float) -> Self:
        """Return the same as if every lesson had counted so much."""
        if by == 1.0:
            return self
        sums = (by * self.lessons, by * self.uses, by * self.precision, by * self.weighted)
        return type(self)(self.features, *sums)

    def capped(self, lessons: float, list_uses: float) -> Self:
        """Return the same counting for no more lists, nor for more uses than these would have.

        Each use is evidence: by lists alone, who uses half of a hundred would outvote many others.
        """
        enough = min(lessons / max(self.lessons, 1.0), list_uses * lessons / max(self.uses, 1.0))
        return self.scaled(min(1.0, enough))

    def about(self, features: tuple[str, ...]) -> Self:
        """Return what is known of other features: of new ones nothing, and old ones are let go."""
        if features == self.features:
            return self
        kept = [name for name in self.features if name in {*features}]
        old, new = places(kept, self.features), places(kept, features)
        precision, weighted = np.zeros((len(features), len(features))), np.zeros(len(features))
        precision[np.ix_(new, new)] = self.precision[np.ix_(old, old)]
        weighted[new] = self.weighted[old]
        return type(self)(features, self.lessons, self.uses, precision, weighted)

    def plus(self, other: Self) -> Self:
        """Return what both taught of the features of the first."""
        other = other.about(self.features)
        return type(self)(
            self.features,
            self.lessons + other.lessons,
            self.uses + other.uses,
            self.precision + other.precision,
            self.weighted + other.weighted,
        )

    def _start(self, prior: Mapping[str, float], config: LearningConfig) -> tuple[Floats, Floats]:
        start = np.array([prior.get(name, 0.0) for name in self.features])
        usual = np.where(start == 0, config.unknown_spread, config.ranker_spread).tolist()
        spreads = map(config.ranker_spreads.get, self.features, usual)
        return start, 1 / np.square(np.array([*spreads]))

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "features": self.features,
            "lessons": self.lessons,
            "uses": self.uses,
            "precision": written(self.precision),
            "weighted": written(self.weighted),
        }

    @classmethod
    def load(cls, value: dict[str, Any]) -> Self:
        """Return what was dumped."""
        sums = (read(value[name]) for name in ("precision", "weighted"))
        return cls(tuple(value["features"]), value["lessons"], value["uses"], *sums)


def rankable(experience: Experience, features: tuple[str, ...]) -> bool:
    """Tell whether the ranker can learn from a list: it must know all its features there."""
    known = experience.names
    return len(experience.placed) > 1 and (known == features or {*features} <= {*known})


def lists_of(
    lessons: Sequence[Lesson], features: tuple[str, ...], curve: Floats, config: LearningConfig
) -> Lists | None:
    """Return the lists that teach something, uses less what was learned of them before."""
    rows, weights, sizes, count = [], [], [], 0.0
    for lesson in lessons:
        now, before = lesson.experience, lesson.before
        if not rankable(now, features):
            continue
        if before is None and not any(one.used for one in now.placed):
            continue
        weight = uses(now, curve, config)
        learned = float(weight.any())
        if before is not None:
            old = uses(before, curve, config)
            weight = weight - old
            learned -= float(old.any())
        if weight.any():
            count += learned
            rows.append(table(now, features))
            weights.append(weight)
            sizes.append(len(weight))
    if not rows:
        return None
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    return Lists(np.concatenate(rows), starts, np.array(sizes), np.concatenate(weights), count)


def table(experience: Experience, features: tuple[str, ...]) -> Floats:
    """Return the features of a list, a memory a row."""
    rows = np.array([one.row for one in experience.placed])
    if experience.names == features:
        return rows
    column = {name: place for place, name in enumerate(experience.names)}
    return rows[:, [column[name] for name in features]]


def uses(experience: Experience, curve: Floats, config: LearningConfig) -> Floats:
    """Return how often each memory of a list would have been used, had all looked at it."""
    placed = experience.placed
    used = np.array([experience.trainable and one.used for one in placed])
    return np.where(used, np.minimum(1 / curve[places_of(placed)], config.position_limit), 0.0)


def _distance(apart: Floats, known: Floats) -> float:
    return float(apart @ known @ apart) / 2


def _definite(known: Floats, hessian: Floats) -> Floats:
    """Return both added; what a correction would take from precision that is not there is kept."""
    total = known + hessian
    try:
        np.linalg.cholesky(total)
    except np.linalg.LinAlgError:
        return known
    return total
