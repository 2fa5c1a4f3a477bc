"""How what was found by meaning and by words becomes one list, every score in [0, 1]."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from models.tenants import FusionWeights
from retrieval.dated import freshness
from retrieval.ranking import FEATURES, Column, Evidence, features, first_and_ties, rank
from storage import Hit

RANK_OFFSET = 60
"""The k of reciprocal rank fusion; the learned order is scored on the same scale."""

LEAST_FRESHNESS = 1e-300
"""A file of the Middle Ages has no logarithm of its freshness left."""


class Weighed(NamedTuple):
    """What a ranker knew of a hit."""

    names: Sequence[str]
    values: Column

    def by_name(self) -> dict[str, float]:
        """Return the values under their names."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


class Scored(NamedTuple):
    """A hit and its score, and what a learned ranker knew of it if one gave the score."""

    hit: Hit
    score: float
    weighed: Weighed | None = None


def in_order(scored: Iterable[Scored]) -> list[Scored]:
    """Return hits by score, ties newest first and then by id."""
    ordered = sorted(scored, key=lambda one: one.hit.memory_id)
    ordered.sort(key=lambda one: (one.score, one.hit.created_at), reverse=True)
    return ordered


def faded(scored: Iterable[Scored], at: datetime) -> list[Scored]:
    """Return hits in order once those of dated files have lost what their age takes."""
    return in_order(
        one
        if one.hit.source_path is None
        else one._replace(score=one.score * freshness(one.hit.source_path, at))
        for one in scored
    )


def by_meaning(evidence: Evidence) -> list[Scored]:
    """Return what has a vector, by its cosine."""
    return [
        Scored(hit, max(hit.similarity, 0.0)) for hit in evidence.hits if hit.similarity is not None
    ]


def by_words(evidence: Evidence) -> list[Scored]:
    """Return what has one of the words, by BM25 on a scale that ends at 1."""
    scores = evidence.bm25
    pairs = zip(evidence.hits, (scores / (1 + scores)).tolist(), strict=True)
    return [Scored(hit, score) for hit, score in pairs if score > 0]


def by_ranks(evidence: Evidence, limit: int) -> list[Scored]:
    """Return reciprocal rank fusion of the best of both sides, divided by its maximum.

    What is among the best of neither side comes after all that is: it is shown only if what was
    before it fades, or if a recall prefers it.
    """
    found = [in_order(side) for side in (by_meaning(evidence), by_words(evidence))]
    sides = [
        {one.hit.memory_id: rank for rank, one in enumerate(side[:limit], start=1)}
        for side in found
    ]
    highest, missing = 2 / (RANK_OFFSET + 1), limit + 1
    hits = {one.hit.memory_id: one.hit for side in found for one in side}
    return [
        Scored(
            hit,
            sum(1 / (RANK_OFFSET + side.get(memory_id, missing)) for side in sides) / highest,
        )
        for memory_id, hit in hits.items()
    ]


def by_weights(evidence: Evidence, weights: FusionWeights, has_meaning: bool) -> list[Scored]:
    """Return the weighted mean of both sides; without an embedder there is only one."""
    vector = weights.vector if has_meaning else 0.0
    keyword = weights.keyword if vector else 1.0
    worded = {one.hit.memory_id: one.score for one in by_words(evidence)}
    return [
        Scored(
            hit,
            (vector * max(hit.similarity or 0.0, 0.0) + keyword * worded.get(hit.memory_id, 0.0))
            / (vector + keyword),
        )
        for hit in evidence.hits
        if hit.similarity is not None or hit.memory_id in worded
    ]


def by_recipe(
    evidence: Evidence,
    query: str,
    best: int,
    weights: Mapping[str, float],
    at: datetime,
    limit: int | None = None,
) -> list[Scored]:
    """Return the learned order, or its beginning, scored by rank on the scale of rank fusion."""
    if not evidence.hits:
        return []
    rows = features(evidence, query, best)
    odds = rank(rows, weights)
    # The ranker's scores are logarithms of odds: fading divides the odds.
    for place, source_path in enumerate(evidence.told.source_path):
        if source_path is not None:
            odds[place] += log_freshness(source_path, at)
    places = range(len(odds)) if limit is None else first_and_ties(odds, limit)
    return by_place(
        in_order(
            Scored(evidence.hits[place], float(odds[place]), Weighed(FEATURES, rows[place]))
            for place in places
        )
    )


def by_place(ordered: Iterable[Scored]) -> list[Scored]:
    """Return hits scored by their place alone, on the scale of rank fusion."""
    return [
        one._replace(score=(RANK_OFFSET + 1) / (RANK_OFFSET + place))
        for place, one in enumerate(ordered, start=1)
    ]


def log_freshness(source_path: str | None, at: datetime) -> float:
    """Return what the age of a dated file takes from the logarithm of a memory's odds."""
    return math.log(max(freshness(source_path, at), LEAST_FRESHNESS))
