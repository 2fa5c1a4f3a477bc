"""A choice the policy made, and how its probabilities follow from weights.

Retrieval draws choices and learning goes over them again: both must mean the same by a weight.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from models.identifiers import Identifier
from models.quantities import UnitInterval
from models.records import Record

Point = Literal["route", "recipe", "keywords", "pool", "move"]
"""What there is to choose: how a search is routed, how it ranks, and each move on the way."""

MAX_LOGIT: Final = 30.0
"""Beyond this, probabilities are 0 and 1 to every digit that counts."""


class Choice(Record):
    """What could be chosen, what was known, and what was chosen."""

    point: Point
    """What was to be chosen."""
    option: Identifier
    """What was."""
    options: Annotated[dict[Identifier, float], Field(min_length=1)]
    """All that could be, each with how much speaks for it before anything is learned."""
    features: dict[Identifier, float]
    """What was known."""
    exploration: UnitInterval
    """With this probability something was tried whatever was known."""


def weight_name(point: Point, option: str, feature: str) -> str:
    """Return the name of the weight that a feature has for an option."""
    return f"{point}/{option}/{feature}"


def probabilities(
    point: Point,
    options: Mapping[str, float],
    features: Mapping[str, float],
    weights: Mapping[str, float],
    exploration: float,
) -> dict[str, float]:
    """Return with which probability each option is chosen: a softmax above a floor.

    Without weights of this point nothing was learned: the first of the best is taken for certain,
    unless something is to be tried.
    """
    moved = {
        option: sum(
            weights.get(weight_name(point, option, name), 0.0) * value
            for name, value in features.items()
        )
        for option in options
    }
    floor = exploration / len(options)
    if not any(moved.values()):
        best = max(options, key=options.__getitem__)
        return {option: floor + (1 - exploration) * (option == best) for option in options}
    logits = {option: options[option] + moved[option] for option in options}
    highest = max(logits.values())
    odds = {option: math.exp(max(logit - highest, -MAX_LOGIT)) for option, logit in logits.items()}
    total = sum(odds.values())
    return {option: floor + (1 - exploration) * each / total for option, each in odds.items()}


def draw(chances: Mapping[str, float], at: float) -> str:
    """Return the option at a place between 0 and 1, the options side by side in their order."""
    names: Sequence[str] = list(chances)
    for name in names:
        at -= chances[name]
        if at < 0:
            return name
    # What the additions left over is the last one's that could be drawn.
    return next(name for name in reversed(names) if chances[name] > 0)
