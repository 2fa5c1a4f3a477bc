"""Chooses what a decomposition does next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from models.actions import DecompositionAction

Move = Literal[
    "search", "drill down", "take apart", "follow up", "ask", "keep recent", "keep relevant", "stop"
]
"""A step: one kind of action, carried out for as many things at once as there are."""

Context = Literal["comparing", "summarizing", "finding"]
"""What kind of question it is: weights belong to moves in a context, never to query texts."""

PRIOR: Final[Mapping[Move, float]] = {
    "search": 1.0,
    "drill down": 0.9,
    "take apart": 0.8,
    "follow up": 0.7,
    "ask": 0.6,
    "keep recent": 0.5,
    "keep relevant": 0.4,
    "stop": 0.0,
}
"""Nothing learned: whatever may help is done once, what others build on and what is cheap first."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A move, and all that learning needs to know of how it was chosen."""

    move: Move
    context: Context
    legal: tuple[Move, ...]
    propensity: float = 1.0

    def params(self, action: DecompositionAction) -> dict[str, JsonValue]:
        """Return what a trajectory tells of an action, and of how it was chosen."""
        return {
            **action.model_dump(mode="json", by_alias=True, exclude={"kind"}),
            "move": self.move,
            "context": self.context,
            "legal": [*self.legal],
        }


class Policy:
    """Takes the move of the highest weight; what it was taught is added to the prior."""

    def __init__(self, learned: Mapping[str, float] | None = None) -> None:
        self._learned = learned or {}

    def choose(self, context: Context, legal: Sequence[Move]) -> Choice:
        """Return the next move of those that are possible."""

        def weight(move: Move) -> float:
            return PRIOR[move] + self._learned.get(f"{move}/{context}", 0.0)

        # max keeps the first of equals, and the order of the legal moves is fixed.
        return Choice(max(legal, key=weight), context, tuple(legal))
