"""What a request asks for once strategies, defaults and what there is have had their say."""

from collections.abc import Sequence
from dataclasses import dataclass

from models import InForce, SearchRequest, TenantOverrides
from models.memories import LAYER_PRECEDENCE, Layer
from models.searches import Fusion, Mode
from storage import words

BEST = 100
"""Memories brought by each side for ranking; docs/decisions.md says what fewer and more find."""

AROUND = 20
"""The memories just before and after the first so many of each side are looked at as well."""

SPARE = 50
"""How many are looked at beyond those asked for where ranking needs no more: one that is near but
belongs to an old dated file makes room for the next."""

LEAST_WEIGHTED = 0.1
"""Results of weighted fusion that score less are left out unless another least is asked for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search or a recall is carried out."""

    mode: Mode
    fusion: Fusion
    layers: Sequence[Layer] | None
    best: int
    around: int
    least: float

    @property
    def is_ranked(self) -> bool:
        """Whether the learned recipe orders the results."""
        return self.mode == "hybrid" and self.fusion == "auto"


def plan(request: SearchRequest, own: TenantOverrides, has_embedder: bool) -> Plan:
    """Return how to carry out the request."""
    mode, layers = request.mode, request.layers
    if request.strategy == "exhaustive":
        mode, layers = "hybrid", None
    elif request.strategy == "semantic-only":
        mode = "semantic"
    elif request.strategy == "targeted":
        layers = layers or named_layers(request.query)
    if not has_embedder and mode == "semantic":
        mode = "keyword"
    ranked = mode == "hybrid" and request.fusion == "auto"
    return Plan(
        mode=mode,
        fusion=request.fusion,
        layers=layers,
        best=max(BEST, request.limit) if ranked else request.limit + SPARE,
        around=AROUND if ranked else 0,
        least=_least(request, own, mode),
    )


def named_layers(query: str) -> tuple[Layer, ...] | None:
    """Return the layers that a query names, None if it names none."""
    said = set(words.terms(query))
    return tuple(layer for layer in LAYER_PRECEDENCE if said & set(words.terms(layer))) or None


def _least(request: SearchRequest, own: TenantOverrides, mode: Mode) -> float:
    """Return the score below which a result is left out."""
    weighted = mode == "hybrid" and request.fusion == "weighted"
    by_rank = mode == "hybrid" and not weighted
    threshold, min_score = request.threshold, request.min_score
    if threshold is None and request.operation == "search":
        # The service's own threshold is made for scores of ranks. A cosine of 0.7 is rare even for
        # what answers a question, so where it would be compared it is left to who asks.
        threshold = own.search_threshold
        if threshold is None and by_rank:
            threshold = InForce().search_threshold
    if min_score is None and weighted:
        min_score = LEAST_WEIGHTED
    return max(threshold or 0.0, min_score or 0.0)
