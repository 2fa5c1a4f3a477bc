"""Decides whether a search is taken apart."""

from dataclasses import dataclass, replace
from typing import Final, cast

from pydantic import JsonValue

from models import ComplexitySignals, InForce
from models.trajectories import Route
from retrieval.choosing import Chooser, Chosen, Policy
from retrieval.query_features import query_features
from retrieval.routing.signals import complexity, signals

SHARPNESS: Final = 5.0
"""What a difference of 1 in the score is worth as a logarithm of odds, once something was learned;
before that the threshold alone decides. With more it takes many lessons to outweigh the score: at
20 the router was behind its peers on searches (docs/learning.md)."""


@dataclass(frozen=True, slots=True)
class Routing:
    """A route, and everything by which it was chosen."""

    route: Route
    score: float
    signals: ComplexitySignals
    chosen: Chosen
    fallback: str | None = None
    """Why it is not taken apart though it was to be."""

    @property
    def propensity(self) -> float:
        """The probability with which this route was chosen."""
        return self.chosen.propensity if self.chosen.option == self.route else 1.0

    def standard(self, fallback: str | None = None) -> "Routing":
        """Return the same on the standard route, and if something forced it there, what."""
        return replace(self, route="standard", fallback=fallback)

    def params(self) -> dict[str, JsonValue]:
        """Return what a trajectory tells of the choice besides its propensity."""
        known: dict[str, JsonValue] = {"route": self.route, "features": {**self.chosen.features}}
        if self.chosen.option == self.route and self.chosen.is_open:
            known["choice"] = self.chosen.told()
        return known


class Router:
    """Routes by the lexical score, moved by what a tenant's outcomes have taught.

    With nothing learned the score alone decides, exactly at the threshold. Learned weights move it:
    each says by how much a feature makes decomposition pay more, or less, than the score tells.
    """

    def route(
        self, query: str, own: InForce, chooser: Chooser | None = None, *, possible: bool = True
    ) -> Routing:
        """Return where a query goes, by the values that are in force for its tenant.

        Where it is not possible to take it apart, or not allowed, there is nothing to choose.
        """
        found = signals(query)
        score = complexity(found)
        known = {"always": 1.0, "score": score, **found.model_dump(), **query_features(query)}
        options = {"standard": 0.0}
        if possible and own.rlm_enabled:
            # At the threshold both are as good: the first is taken then.
            options = {"rlm": SHARPNESS * (score - own.routing_threshold), **options}
        chosen = (chooser or Chooser(Policy(), 0)).choose("route", options, known)
        return Routing(cast(Route, chosen.option), score, found, chosen)
