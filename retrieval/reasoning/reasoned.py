"""The outcome of reasoning about a query."""

from dataclasses import dataclass
from datetime import timedelta

from models.memories import Layer


@dataclass(frozen=True, slots=True)
class Reasoned:
    """How to look for what a query asks, and why so."""

    meanings: tuple[str, ...]
    """Queries for the side that goes by meaning, the best first."""
    keywords: tuple[str, ...]
    """Queries for the side that goes by words, as many as there are meanings."""
    entities: tuple[str, ...] = ()
    """Names in the query."""
    layers: tuple[Layer, ...] | None = None
    """The layers the query speaks of, if it does."""
    max_age: timedelta | None = None
    """How old a memory may be, if the query says so."""
    parts: tuple[str, ...] = ()
    """Questions whose answers make up the answer."""
    trace: tuple[str, ...] = ()
    """Why, in words; for the trajectory, never for an answer."""
    tokens: int = 0
    """What finding out cost."""
    is_degraded: bool = False
    """Whether a language model should have helped and did not."""


def unrefined(query: str) -> Reasoned:
    """Return a query as it is."""
    return Reasoned(meanings=(query,), keywords=(query,))
