"""Recall: what is relevant, important, lately used and still believed comes first.

A tenant may also let count what was learned of a memory's value: how often it was used when it was
looked at.
"""

from collections.abc import Sequence
from datetime import datetime

from models.tenants import ScopeWeights
from retrieval.fusion import Scored, in_order
from storage import Hit

HALF_LIFE_DAYS = 7.0
MOST_IMPORTANT = 10.0


def recency(hit: Hit, at: datetime) -> float:
    """Return 1 for what was just returned (or, if it never was, written), half of it a week on."""
    last = hit.last_referenced_at or hit.created_at
    days = max((at - last).total_seconds() / 86_400, 0.0)
    return float(2.0 ** (-days / HALF_LIFE_DAYS))


def composite(scored: Sequence[Scored], weights: ScopeWeights, at: datetime) -> list[Scored]:
    """Return hits by the weighted mean of what speaks for them."""
    total = weights.relevance + weights.importance + weights.recency + weights.confidence
    total += weights.value
    return in_order(
        one._replace(
            score=(
                weights.relevance * one.score
                + weights.importance * (one.hit.importance / MOST_IMPORTANT)
                + weights.recency * recency(one.hit, at)
                + weights.confidence * one.hit.confidence
                + weights.value * (one.hit.value or 0.0)
            )
            / total
        )
        for one in scored
    )
