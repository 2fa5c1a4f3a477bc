"""Chooses what a decomposition does next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from pydantic import JsonValue

from models.actions import DecompositionAction
from retrieval.choosing import Chooser, Chosen

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

SHARPNESS: Final = 20.0
"""What a difference of 1 in the prior is worth as a logarithm of odds: to stop before anything that
may help was done is then as unlikely as one in three thousand, until it was learned to pay."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A move, and all that learning needs to know of how it was chosen."""

    move: Move
    context: Context
    legal: tuple[Move, ...]
    propensity: float = 1.0
    chosen: Chosen | None = None
    """How it was chosen, if there was a choice."""

    def params(self, action: DecompositionAction) -> dict[str, JsonValue]:
        """Return what a trajectory tells of an action, and of how it was chosen."""
        return {
            **action.model_dump(mode="json", by_alias=True, exclude={"kind"}),
            "move": self.move,
            "context": self.context,
            "legal": [*self.legal],
        }


def choose(
    chooser: Chooser, context: Context, legal: Sequence[Move], so_far: Mapping[str, float]
) -> Choice:
    """Return the next move of those that are possible, given what is known of the search so far."""
    options: dict[str, float] = {move: SHARPNESS * PRIOR[move] for move in legal}
    chosen = chooser.choose("move", options, {context: 1.0, **so_far})
    return Choice(cast(Move, chosen.option), context, tuple(legal), chosen.propensity, chosen)
