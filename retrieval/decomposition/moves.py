"""Which moves make sense, given what was asked and what was found."""

from typing import Final

from retrieval.decomposition.drilling import drills
from retrieval.decomposition.policy import Context, Move
from retrieval.decomposition.questions import sides
from retrieval.decomposition.state import State
from retrieval.routing.signals import signals, wants_summary

CROWD: Final = 4
"""From so many times as many as are asked for, the least relevant can go."""


def context_of(query: str) -> Context:
    """Return what kind of question it is."""
    if signals(query).comparison:
        return "comparing"
    return "summarizing" if wants_summary(query) else "finding"


SEARCHING: Final[frozenset[Move]] = frozenset({"drill down", "take apart", "ask", "follow up"})
"""The moves that cost queries."""


def useful_moves(state: State, can_ask: bool) -> list[Move]:
    """Return the moves that may help, in a fixed order; one can always stop."""
    if not state.searches:
        return ["search"]
    made = state.made
    moves: list[Move] = []
    if "drill down" not in made and drills(state.task.request.query):
        moves.append("drill down")
    if "take apart" not in made and _has_parts(state):
        moves.append("take apart")
    if can_ask and "ask" not in made:
        moves.append("ask")
    if "follow up" not in made and state.found:
        moves.append("follow up")
    if state.reasoned.max_age is not None and "keep recent" not in made:
        moves.append("keep recent")
    if "keep relevant" not in made and state.found > CROWD * state.task.request.limit:
        moves.append("keep relevant")
    return [*moves, "stop"]


def _has_parts(state: State) -> bool:
    query = state.task.request.query
    return bool(state.within or state.reasoned.parts or sides(query) or state.several_layers())
