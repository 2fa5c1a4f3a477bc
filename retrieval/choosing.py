"""Makes the choices that a policy leaves open, each with its probability."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from models.choices import Point, draw, probabilities
from retrieval.ranking import PRIOR

RANK: Final = "rank/"
"""What the names of the ranker's weights begin with."""

SHARES: Final[Mapping[Point, float]] = {
    "route": 1.0,
    "keywords": 0.2,
    "pool": 0.1,
    "recipe": 0.05,
    "move": 0.1,
}
"""How much of a tenant's exploration each choice gets: most where most is to be learned, little
where what would be tried is known to be worse for nearly everybody."""


@dataclass(frozen=True)
class Policy:
    """What serves a tenant's searches."""

    version: int = 0
    """0 before anything was learned."""
    weights: Mapping[str, float] = field(default_factory=lambda: PRIOR)
    """How the ranker weighs its features."""
    choices: Mapping[str, float] | None = None
    """What was learned of choices, by name."""
    exploration: float = 0.0
    """How often something is tried whatever is known."""

    @property
    def is_learning(self) -> bool:
        """Whether there is anything but the prior, or anything is tried."""
        return bool(self.choices) or self.exploration > 0

    @staticmethod
    def of(version: int, weights: Mapping[str, float], exploration: float) -> "Policy":
        """Return a policy from its weights by name."""
        ranking = {
            name.removeprefix(RANK): weight
            for name, weight in weights.items()
            if name.startswith(RANK)
        }
        choices = {name: weight for name, weight in weights.items() if not name.startswith(RANK)}
        return Policy(version, ranking or PRIOR, choices, exploration)


@dataclass(frozen=True)
class Chosen:
    """An option, and all that learning needs to know of how it was chosen."""

    point: Point
    option: str
    options: Mapping[str, float]
    features: Mapping[str, float]
    exploration: float
    propensity: float

    @property
    def is_open(self) -> bool:
        """Whether another option could have been chosen."""
        return self.propensity < 1

    def told(self) -> dict[str, Any]:
        """Return what a trajectory tells of it besides its propensity, as models.choices reads."""
        return {
            "point": self.point,
            "option": self.option,
            "options": dict(self.options),
            "features": dict(self.features),
            "exploration": self.exploration,
        }


class Chooser:
    """Chooses for one request: the same however often it is delivered to the same policy."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self.policy = policy
        self._seed = seed
        self._made: Counter[Point] = Counter()

    def chance(self, name: str) -> random.Random:
        """Return what something is drawn from: for each name another."""
        return random.Random(f"{self._seed}/{name}")  # noqa: S311 -- no secret

    def choose(
        self, point: Point, options: Mapping[str, float], features: Mapping[str, float]
    ) -> Chosen:
        """Return one of the options, given what speaks for each before anything is learned."""
        exploration = self.policy.exploration * SHARES[point] if len(options) > 1 else 0.0
        learned = self.policy.choices or {}
        chances = probabilities(point, options, features, learned, exploration)
        # What one choice draws does not depend on which others were made before it.
        name = f"{point}/{self._made[point]}"
        self._made[point] += 1
        sure = next((one for one, chance in chances.items() if chance == 1), None)
        option = sure or draw(chances, self.chance(name).random())
        return Chosen(point, option, options, features, exploration, chances[option])
