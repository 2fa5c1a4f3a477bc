"""The learned recipe: a memory's score is a weighted sum of cheap features."""

from retrieval.ranking.evidence import Column, Evidence
from retrieval.ranking.features import FEATURES, GROUPS, features
from retrieval.ranking.highest import first_and_ties
from retrieval.ranking.ranker import EQUAL, PRIOR, rank, without_groups

__all__ = [
    "EQUAL",
    "FEATURES",
    "GROUPS",
    "PRIOR",
    "Column",
    "Evidence",
    "features",
    "first_and_ties",
    "rank",
    "without_groups",
]
