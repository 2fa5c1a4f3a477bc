"""Which of many scores are the highest."""

import numpy as np

from retrieval.ranking.evidence import Column

SCORE_DIGITS = 9
"""Scores are compared to this many digits: beyond, only the order of additions shows."""


def first_and_ties(scores: Column, count: int) -> list[int]:
    """Return the places of so many of the highest scores, and of all that tie with the last."""
    if count >= len(scores):
        return list(range(len(scores)))
    found: list[int] = np.flatnonzero(scores >= np.partition(scores, -count)[-count]).tolist()
    return found
