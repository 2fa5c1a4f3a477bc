"""Tenants made up for tests: what they are asked, and what comes of it."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from learning.config import LearningConfig
from learning.events import PolicyEvent
from learning.lessons import Chosen, Experience, Lesson
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer
from models.choices import Choice, Point, draw, probabilities

Reward = Callable[[Mapping[str, float], str, random.Random], float]
"""What a choice of an option in a context earns."""


@dataclass
class Tenant:
    """A tenant that is served by what it taught, one choice a search."""

    features: Callable[[random.Random], dict[str, float]]
    reward: Reward
    seed: int
    options: Mapping[str, float] = field(default_factory=lambda: {"standard": 0.0, "rlm": -4.0})
    point: Point = "route"
    prior: Mapping[str, float] = field(default_factory=dict)
    config: LearningConfig = field(default_factory=LearningConfig)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.trainer = Trainer(self.prior, self.config)
        self.state = Learned.fresh(self.prior)
        self.events: list[PolicyEvent] = []
        self.rewards: list[float] = []

    def search(self, number: int, weights: Mapping[str, float]) -> Lesson:
        features = self.features(self.chance)
        exploration = self.state.exploration
        chances = probabilities(self.point, self.options, features, weights, exploration)
        option = draw(chances, self.chance.random())
        reward = min(max(self.reward(features, option, self.chance), -1.0), 1.0)
        choice = Choice(
            point=self.point,
            option=option,
            options=dict(self.options),
            features=features,
            exploration=exploration,
        )
        self.rewards.append(reward)
        return Lesson(
            Experience(
                trajectory_id=f"t{number}",
                revision=0,
                policy_version=self.state.version,
                reward=reward,
                trainable=True,
                chosen=(Chosen(choice, chances[option]),),
            )
        )

    def run(self, lessons: int, reward: Reward | None = None) -> Learned:
        """Serve so many searches and learn from them, step by step."""
        if reward:
            self.reward = reward
        for _ in range(lessons // STEP):
            weights = serving_weights(self.state, None, self.prior, self.config)
            learned = [self.search(len(self.rewards), weights) for _ in range(STEP)]
            step = self.trainer.step(self.state, learned)
            self.state = step.state
            self.events += step.events
        return self.state

    def chances(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return how likely each option is now, exploration aside."""
        weights = serving_weights(self.state, None, self.prior, self.config)
        return probabilities(self.point, self.options, features, weights, 0.0)
