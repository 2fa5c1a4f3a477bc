"""What policies would have earned on the searches they were about to learn from."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from learning.advantages import Advantages
from learning.arrays import Floats, places
from learning.config import LearningConfig
from learning.estimators import (
    Estimate,
    bootstrap_interval,
    doubly_robust,
    inverse_propensity,
    self_normalised,
    weights,
)
from learning.lessons import Lesson
from learning.logged import Logged, logged
from learning.state import Learned

LIMIT = 20.0
"""Importance weights end here, as the gate's do unless it is told otherwise: what is tried is to be
compared by the same measure."""


class Hindsight:
    """Judges, before each step, the policy that serves by the step's lessons.

    Nothing is judged by what taught it. Exploration is left out: it is the price of learning.
    """

    def __init__(self, config: LearningConfig) -> None:
        self._config = config
        self.rewards: dict[str, float] = {}
        """What searches are worth, by their ids, where that is not what was learned."""
        self._terms: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def look(self, state: Learned, lessons: Sequence[Lesson]) -> None:
        """Judge the policy that serves by lessons that it is about to learn."""
        new = [one for one in lessons if one.new and one.experience.trainable]
        rewards = np.array(
            [self.rewards.pop(one.experience.trajectory_id, one.experience.reward) for one in new]
        )
        for point, seen in logged(new, self._config).items():
            terms = self._of(state, point, seen, rewards[seen.lesson])
            for name, values in terms.items():
                self._terms[point][name].extend(values.tolist())

    def estimates(self, seed: int) -> dict[str, dict[str, Estimate]]:
        """Return for each point what choosing as the policies would have is worth, with intervals.

        What was really earned is beside it, as logged.
        """
        found: dict[str, dict[str, Estimate]] = {}
        for point in sorted(self._terms):
            terms = {name: np.array(values) for name, values in self._terms[point].items()}
            reward, weight = terms["reward"], terms["weight"]
            kinds = {
                "logged": reward,
                "ips": inverse_propensity(reward, weight),
                # Where no logged choice is one that the policy would make, nothing is known.
                "snips": self_normalised(reward, weight) if weight.any() else 0 * reward,
                "dr": doubly_robust(reward, weight, terms["model"], terms["expected"]),
            }
            found[point] = {
                name: bootstrap_interval(values, seed) for name, values in kinds.items()
            }
        return found

    def _of(self, state: Learned, point: str, seen: Logged, reward: Floats) -> dict[str, Floats]:
        rows = np.arange(len(seen))
        config, nothing = self._config, Advantages()
        # The weights are those that serve; so is how far they may go.
        serving = state.serving.points.get(point, nothing).over(seen.options, seen.features)
        target = seen.chances(_seen_of(serving, serving.weights(0.0, config), seen), 0.0)
        known = state.learner.points.get(point, nothing).over(seen.options, seen.features)
        hoped = _seen_of(known, known.advantage(state.baseline, config), seen)
        model = np.where(seen.there, seen.x @ hoped.T, 0.0)
        model += state.baseline - (seen.even * model).sum(1, keepdims=True)
        return {
            "reward": reward,
            "weight": weights(target[rows, seen.chosen], seen.propensity, LIMIT),
            "model": model[rows, seen.chosen],
            "expected": (target * model).sum(1),
        }


def _seen_of(known: Advantages, table: Floats, seen: Logged) -> Floats:
    """Return what a table says of the options and features that were seen."""
    here = np.ix_(places(seen.options, known.options), places(seen.features, known.features))
    return np.asarray(table[here], dtype=np.float64)


def told(estimates: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
    """Return estimates as JSON has them."""
    return {
        point: {
            name: {"value": one.value, "lower": one.lower, "upper": one.upper, "n": one.n}
            for name, one in kinds.items()
        }
        for point, kinds in estimates.items()
    }
