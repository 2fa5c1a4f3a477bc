"""How much better than the others each option is, learned from logged choices.

One natural policy gradient step from the policy that draws blindly, over all lessons:
docs/learning.md derives it.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from learning.arrays import Floats, places, read, united, written
from learning.config import LearningConfig
from learning.logged import Logged

SMALLEST = 0.05
"""Features are thought to be at least of this size, or a weight could be anything."""

_SUMS = ("fisher", "gains", "scores", "sizes")


@dataclass(frozen=True, slots=True)
class Advantages:
    """Sums over the lessons of one point; a column for each option's weight of each feature."""

    options: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    lessons: float = 0.0
    fisher: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """The products of scores: how much is known, and of what."""
    gains: Floats = field(default_factory=lambda: np.zeros(0))
    """The score of each choice times its return."""
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    """The same without the return: what a baseline takes away."""
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    """The diagonal of the first, had every feature that was there been 1."""

    def after(self, seen: Logged, config: LearningConfig) -> Self:
        """Return the sums with those of more choices."""
        wide = self.over(seen.options, seen.features)
        surprise, rho = surprises(seen, config)
        psi = _spread(surprise, seen.x, seen, wide)
        there = _spread(surprise, (seen.x != 0).astype(np.float64), seen, wide)
        learned = rho * seen.weight
        # However many choices a search makes, it is one lesson.
        count = dict(zip(seen.lesson.tolist(), seen.weight.tolist(), strict=True))
        return type(self)(
            wide.options,
            wide.features,
            wide.lessons + sum(count.values()),
            wide.fisher + psi.T @ (learned[:, None] * psi),
            wide.gains + psi.T @ (rho * seen.gain),
            wide.scores + psi.T @ learned,
            wide.sizes + np.square(there).T @ learned,
        )

    def scaled(self, by: float) -> Self:
        """Return the sums as if every lesson had counted so much."""
        if by == 1.0:
            return self
        sums = (by * getattr(self, name) for name in _SUMS)
        return type(self)(self.options, self.features, by * self.lessons, *sums)

    def settled(self, baseline: float) -> Self:
        """Return the sums with the baseline taken away for good, as they are kept and shared."""
        gains = self.gains - baseline * self.scores
        return replace(self, gains=gains, scores=np.zeros_like(gains))

    def plus(self, other: Self) -> Self:
        """Return the sums of both."""
        one = self.over(other.options, other.features)
        two = other.over(one.options, one.features)
        sums = (getattr(one, name) + getattr(two, name) for name in _SUMS)
        return type(self)(one.options, one.features, one.lessons + two.lessons, *sums)

    def over(self, options: tuple[str, ...], features: tuple[str, ...]) -> Self:
        """Return the same sums with room for more options and features."""
        if (options, features) == (self.options, self.features):
            return self
        wider, longer = united(self.options, options), united(self.features, features)
        if (wider, longer) == (self.options, self.features):
            return self
        size = len(wider) * len(longer)
        rows, columns = places(self.options, wider), places(self.features, longer)
        kept = (rows[:, None] * len(longer) + columns).ravel()
        fisher = np.zeros((size, size))
        fisher[np.ix_(kept, kept)] = self.fisher
        sums = [np.zeros(size) for _ in _SUMS[1:]]
        for wide, name in zip(sums, _SUMS[1:], strict=True):
            wide[kept] = getattr(self, name)
        return type(self)(wider, longer, self.lessons, fisher, *sums)

    def scale(self) -> Floats:
        """Return the mean square of each feature where it was there; 1 while it never was."""
        known = self.sizes > 0
        scale = np.where(known, self.fisher.diagonal() / np.where(known, self.sizes, 1.0), 1.0)
        return np.maximum(scale, SMALLEST**2)

    def advantage(self, baseline: float, config: LearningConfig) -> Floats:
        """Return the expected reward that a unit of each feature adds to each option.

        The ridge goes by the size of features: it must not matter whether they are in per cent.
        """
        known = self.fisher.copy()
        known.flat[:: len(known) + 1] += config.ridge * self.scale()
        found = np.linalg.solve(known, self.gains - baseline * self.scores)
        return found.astype(np.float64).reshape(len(self.options), len(self.features))

    def weights(self, baseline: float, config: LearningConfig) -> Floats:
        """Return the weights of the logits, an option a row."""
        return self.clamped(self.advantage(baseline, config), config)

    def clamped(self, advantage: Floats, config: LearningConfig) -> Floats:
        """Return the weights of the logits that follow from advantages.

        The more is known, the less speaks for what was thought before: the temperature falls like
        the error of what is known.
        """
        known = max(self.lessons, 0.0) / config.temperature_horizon
        temperature = config.temperature / math.sqrt(1 + known)
        weights = advantage / temperature
        largest = float(
            np.abs(weights * np.sqrt(self.scale()).reshape(weights.shape)).max(initial=0)
        )
        # All are made smaller alike: cut one by one they would no longer balance each other.
        return weights * min(1.0, config.weight_limit / max(largest, config.weight_limit))

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        sums = {name: written(getattr(self, name)) for name in _SUMS}
        names = {"options": self.options, "features": self.features}
        return {**names, "lessons": self.lessons, **sums}

    @classmethod
    def load(cls, value: dict[str, Any]) -> Self:
        """Return what was dumped."""
        sums = (read(value[name]) for name in _SUMS)
        return cls(tuple(value["options"]), tuple(value["features"]), value["lessons"], *sums)


def surprises(seen: Logged, config: LearningConfig) -> tuple[Floats, Floats]:
    """Return each choice less what was to be expected, and its importance weight.

    Importance weights turn choices of whatever policy into those of the one that draws blindly. As
    they are clipped, so is what is to be expected, or the mean score would not be 0.
    """
    limit = config.importance_limit
    even, behaviour = seen.even, seen.behaviour
    expected = np.minimum(even, limit * behaviour)
    expected /= expected.sum(1, keepdims=True)
    rows = np.arange(len(seen))
    rho: Floats = np.minimum(even[rows, seen.chosen] / seen.propensity, limit)
    surprise = -expected
    surprise[rows, seen.chosen] += 1
    return surprise, rho


def _spread(surprise: Floats, x: Floats, seen: Logged, wide: Advantages) -> Floats:
    """Return the products of both in the columns where they belong: with x, the scores."""
    found = surprise[:, :, None] * x[:, None, :]
    if (seen.options, seen.features) != (wide.options, wide.features):
        narrow, found = found, np.zeros((len(seen), len(wide.options), len(wide.features)))
        options, features = places(seen.options, wide.options), places(seen.features, wide.features)
        found[np.ix_(np.arange(len(seen)), options, features)] = narrow
    return found.reshape(len(seen), len(wide.options) * len(wide.features))
