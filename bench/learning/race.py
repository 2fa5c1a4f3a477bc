"""A race of learners: each makes every choice, with the same exploration."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from learning.config import LearningConfig
from learning.trainer import exploration
from models.choices import draw


@dataclass(frozen=True)
class Round:
    """One choice to make. What an option earns is settled: whoever takes it earns the same."""

    features: Mapping[str, float]
    options: Mapping[str, float]
    """Each with how much speaks for it before anything is learned."""
    reward: Callable[[str], float]
    lists: Mapping[str, Sequence[tuple[float, bool]]] = field(default_factory=dict)
    """What options would show, from top to bottom: how well each seems to fit, and if it is used.
    Rewards alone do not tell whether signals have to do with what is shown."""


class Learner(Protocol):
    """Whoever takes part."""

    def chances(self, round_: Round, exploration: float) -> dict[str, float]:
        """Return how likely each option is to be taken."""

    def learn(self, round_: Round, option: str, reward: float, propensity: float) -> None:
        """Learn what was earned."""


def run(
    learner: Learner,
    rounds: Sequence[Round],
    seed: int,
    config: LearningConfig | None = None,
    explores: bool = True,
) -> list[float]:
    """Return what a learner earned in each round; all draw with the same numbers."""
    chance = random.Random(seed)
    config = config or LearningConfig()
    earned = []
    for number, round_ in enumerate(rounds):
        rate = exploration(number, config) if explores and number else 0.0
        chances = learner.chances(round_, rate)
        option = draw(chances, chance.random())
        reward = round_.reward(option)
        learner.learn(round_, option, reward, chances[option])
        earned.append(reward)
    return earned


class Frozen:
    """Takes what speaks for itself and never learns."""

    def chances(self, round_: Round, exploration: float) -> dict[str, float]:
        """Return certainty."""
        best = max(round_.options, key=round_.options.__getitem__)
        return {option: float(option == best) for option in round_.options}

    def learn(self, round_: Round, option: str, reward: float, propensity: float) -> None:
        """Learn nothing."""


def mixed(greedy: str, options: Mapping[str, float], exploration: float) -> dict[str, float]:
    """Return the chances of one option above a floor for all."""
    floor = exploration / len(options)
    return {option: floor + (1 - exploration) * (option == greedy) for option in options}
