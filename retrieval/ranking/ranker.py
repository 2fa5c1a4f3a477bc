"""The order of the learned recipe."""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files

import numpy as np

from retrieval.ranking.evidence import Column
from retrieval.ranking.features import FEATURES, GROUPS
from retrieval.ranking.highest import SCORE_DIGITS

PRIOR: Mapping[str, float] = json.loads(
    files("retrieval.ranking").joinpath("prior.json").read_text(encoding="utf-8")
)
"""The weights every tenant starts from, fitted by ``python -m bench.prior``."""

EQUAL: Mapping[str, float] = {
    **dict.fromkeys(FEATURES, 0.0),
    **dict.fromkeys(("cosine", "bm25"), 2.0),
}
"""What one begins with who has learned nothing: meaning and words count the same, and it is not
known yet what else tells anything."""


def rank(rows: Column, weights: Mapping[str, float]) -> Column:
    """Return the score of each row of features; a feature without a weight does not count."""
    vector = np.array([weights.get(name, 0.0) for name in FEATURES])
    scores: Column = (rows @ vector).round(SCORE_DIGITS)
    return scores


def without_groups(groups: Iterable[str]) -> Mapping[str, float]:
    """Return the prior with these groups of features switched off."""
    off = {name for group in groups for name in GROUPS[group]}
    return {name: weight for name, weight in PRIOR.items() if name not in off}
