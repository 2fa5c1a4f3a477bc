"""Readers made up for tests: they look down a list, and use what they look at and like."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from learning.config import LearningConfig
from learning.lessons import Experience, Lesson, Placed
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer

SHOWN = 8
CANDIDATES = 24
SWAP = 0.1
"""How often a pair of neighbours is swapped."""


@dataclass
class Readers:
    """Readers of one tenant, for whom memories are as good as planted weights say."""

    planted: Mapping[str, float]
    prior: Mapping[str, float]
    looks: Callable[[int], float]
    seed: int
    config: LearningConfig

    def __post_init__(self) -> None:
        self.names = sorted(self.planted)
        self.truth = np.array([self.planted[name] for name in self.names])
        self.numbers = np.random.default_rng(self.seed)
        self.chance = random.Random(self.seed)
        self.trainer = Trainer(self.prior, self.config)
        self.state = Learned.fresh(self.prior)
        self.quality: list[float] = []

    def search(self, number: int, weights: np.ndarray) -> Lesson:
        rows = self.numbers.random((CANDIDATES, len(self.names)))
        scores = rows @ self.truth
        good = 1 / (1 + np.exp(-(scores - np.quantile(scores, 0.85)) * 3))
        order = [int(place) for place in np.argsort(-(rows @ weights), kind="stable")[:SHOWN]]
        self.quality.append(float(good[order].mean()))
        propensity = [1.0] * SHOWN
        upper = self.chance.randrange(SHOWN - 1)
        if self.chance.random() < SWAP * (SHOWN - 1):
            order[upper], order[upper + 1] = order[upper + 1], order[upper]
            propensity[upper] = propensity[upper + 1] = SWAP
        placed = tuple(
            Placed(
                f"m{number}-{place}",
                rank,
                propensity[rank - 1],
                self.chance.random() < self.looks(rank) * good[place],
                tuple(rows[place].tolist()),
            )
            for rank, place in enumerate(order, 1)
        )
        reward = 1.0 if any(one.used for one in placed) else -0.2
        return Lesson(
            Experience(
                f"t{number}",
                0,
                self.state.version,
                reward,
                trainable=True,
                names=tuple(self.names),
                placed=placed,
            )
        )

    def run(self, lessons: int) -> Learned:
        for _ in range(lessons // STEP):
            served = serving_weights(self.state, None, self.prior, self.config)
            weights = np.array([served[f"rank/{name}"] for name in self.names])
            learned = [self.search(len(self.quality), weights) for _ in range(STEP)]
            self.state = self.trainer.step(self.state, learned).state
        return self.state
