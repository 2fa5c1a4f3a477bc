"""How well a search went, as one number."""

from dataclasses import dataclass

from models import Outcome

TOKENS_AT_MOST = 100_000
"""So many tokens, or more, are no efficiency at all."""


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """What success and efficiency count."""

    success: float = 1.0
    efficiency: float = 0.3


_SUCCESS = {"query_refined": 0.3, "result_ignored": -0.5, "no_signal": 0.0}


def reward(outcome: Outcome, tokens_used: int, weights: RewardWeights) -> float:
    """Return the reward of a search, from −1 to 1."""
    efficiency = 1 - min(tokens_used / TOKENS_AT_MOST, 1)
    total = weights.success * success(outcome) + weights.efficiency * efficiency
    return min(max(total, -1.0), 1.0)


def success(outcome: Outcome) -> float:
    """Return how far a search reached its aim: a used one as far as its quality says."""
    if outcome.type == "result_used":
        return outcome.quality_score or 0.0
    return _SUCCESS[outcome.type]


def trainable(outcome: Outcome, query: str, *, succeeded: bool) -> bool:
    """Tell whether learning may learn from a search: not from silence, nor from an outage.

    Nor from memories got by their ids, for which nothing was asked and nothing chosen.
    """
    return succeeded and bool(query) and outcome.type != "no_signal"
