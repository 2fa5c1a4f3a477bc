"""Other rewards and parameters of learning, as people type them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

from learning.config import LearningConfig
from learning.rewards import RewardWeights, reward
from models import Trajectory

REWARDS = {"reward_success": "success", "reward_efficiency": "efficiency"}
"""What rewards are made of, by the names of the settings."""


class WhatIfError(Exception):
    """What was to be tried is not there, or not so; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Trying:
    """A way to learn: rewards if they are to be others than those logged, and parameters."""

    rewards: RewardWeights | None = None
    config: LearningConfig = field(default_factory=LearningConfig)

    def reward(self, trajectory: Trajectory) -> float:
        """Return what a search is worth by these rewards."""
        if self.rewards is None:
            return trajectory.reward
        return reward(trajectory.outcome, trajectory.tokens_used, self.rewards)


def read_what_if(assignments: Sequence[str], logged: RewardWeights) -> Trying:
    """Return what is to be tried, from KEY=VALUE; what is not named is as it is."""
    trying, rewards = Trying(), logged
    kinds: dict[str, Any] = {**dict.fromkeys(REWARDS, float), **_kinds()}
    for assignment in assignments:
        key, _, text = assignment.partition("=")
        if key not in kinds:
            raise WhatIfError(f"{key!r}: no such key; there are {', '.join(kinds)}")
        value = _read(key, text, kinds[key])
        if key in REWARDS:
            rewards = replace(rewards, **{REWARDS[key]: value})
        else:
            trying = replace(trying, config=replace(trying.config, **{key: value}))
    return replace(trying, rewards=rewards if rewards != logged else None)


def _kinds() -> dict[str, Any]:
    """Return the parameters that can be typed, each with its type."""
    hints = get_type_hints(LearningConfig)
    return {
        name: kind
        for name, kind in hints.items()
        if kind in (int, float) or get_origin(kind) is Literal
    }


def _read(key: str, text: str, kind: Any) -> Any:
    if allowed := get_args(kind):
        if text not in allowed:
            raise WhatIfError(f"{key} is {text!r}; it should be {' or '.join(allowed)}")
        return text
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not isfinite(value) or value < 0:
        what = "whole number" if kind is int else "number"
        raise WhatIfError(f"{key} is {text!r}; it should be a {what}, not below 0")
    return value
