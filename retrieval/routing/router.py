"""Decides whether a search is taken apart."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from models import ComplexitySignals, InForce
from models.trajectories import Route
from retrieval.routing.signals import complexity, signals

NOTHING_LEARNED: Final[Mapping[str, float]] = {}


@dataclass(frozen=True, slots=True)
class Routing:
    """A route, and everything by which it was chosen."""

    route: Route
    score: float
    signals: ComplexitySignals
    advantage: float
    """By how much decomposition is expected to pay; from 0 on it is chosen."""
    propensity: float = 1.0
    """The probability with which this route was chosen."""
    fallback: str | None = None
    """Why it is not taken apart though it was to be."""

    def standard(self, fallback: str | None = None) -> "Routing":
        """Return the same on the standard route, and if something forced it there, what."""
        return replace(self, route="standard", fallback=fallback)

    def features(self) -> dict[str, float]:
        """Return what learning may weigh."""
        return features(self.score, self.signals)

    def params(self) -> dict[str, JsonValue]:
        """Return what a trajectory tells of the choice besides its propensity."""
        known: dict[str, JsonValue] = {**self.features()}
        return {"route": self.route, "advantage": self.advantage, "features": known}


class Router:
    """Routes by the lexical score, moved by what a tenant's outcomes have taught.

    With nothing learned the score alone decides, exactly at the threshold. Learned weights move it:
    each says by how much a feature makes decomposition pay more, or less, than the score tells.
    """

    def route(
        self, query: str, own: InForce, learned: Mapping[str, float] = NOTHING_LEARNED
    ) -> Routing:
        """Return where a query goes, by the values that are in force for its tenant."""
        found = signals(query)
        score = complexity(found)
        moved = sum(
            learned.get(name, 0.0) * value for name, value in features(score, found).items()
        ) if learned else 0.0  # fmt: skip
        advantage = score - own.routing_threshold + moved
        pays = own.rlm_enabled and advantage >= 0
        return Routing("rlm" if pays else "standard", score, found, advantage)


def features(score: float, found: ComplexitySignals) -> dict[str, float]:
    """Return what the router knows of a query, by name."""
    return {"always": 1.0, "score": score, **found.model_dump()}
