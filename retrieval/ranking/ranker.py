"""The order of the learned recipe."""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files

import numpy as np

from retrieval.ranking.evidence import Column
from retrieval.ranking.features import FEATURES, GROUPS

PRIOR: Mapping[str, float] = json.loads(
    files("retrieval.ranking").joinpath("prior.json").read_text(encoding="utf-8")
)
"""The weights every tenant starts from, fitted by ``python -m bench.prior``."""

SCORE_DIGITS = 9
"""Scores are compared to this many digits: beyond, only the order of additions shows."""


def rank(rows: Column, weights: Mapping[str, float]) -> Column:
    """Return the score of each row of features; a feature without a weight does not count."""
    vector = np.array([weights.get(name, 0.0) for name in FEATURES])
    scores: Column = (rows @ vector).round(SCORE_DIGITS)
    return scores


def first_and_ties(scores: Column, count: int) -> list[int]:
    """Return the places of so many of the highest scores, and of all that tie with the last."""
    if count >= len(scores):
        return list(range(len(scores)))
    found: list[int] = np.flatnonzero(scores >= np.partition(scores, -count)[-count]).tolist()
    return found


def without_groups(groups: Iterable[str]) -> Mapping[str, float]:
    """Return the prior with these groups of features switched off."""
    off = {name for group in groups for name in GROUPS[group]}
    return {name: weight for name, weight in PRIOR.items() if name not in off}
