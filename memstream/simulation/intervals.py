"""Intervals that do not take a question that is asked again for another one."""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean

Z = 1.959964
"""So many standard errors are 95 % when there are very many questions."""

FEW = {1: 12.706, 2: 4.303, 3: 3.182}
"""Student's t for so few degrees of freedom, where the expansion is not near enough."""


def student(freedom: int) -> float:
    """Return how many standard errors hold in 95 of 100 cases, by Student."""
    if freedom in FEW:
        return FEW[freedom]
    first = (Z**3 + Z) / (4 * freedom)
    second = (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
    return Z + first + second


def paired(
    ours: Sequence[float], theirs: Sequence[float], questions: Sequence[Hashable]
) -> dict[str, float | None]:
    """Return by how much one is better than the other in the same rounds, with 95 % bounds.

    What comes of a question today is much like what came of it yesterday. So the standard error is
    that of the sums by question (cluster-robust, Liang and Zeger 1986, for finitely many), with as
    many degrees of freedom as there are other questions; of one question alone nothing is known.
    """
    apart = [one - other for one, other in zip(ours, theirs, strict=True)]
    mean = fmean(apart)
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for question, each in zip(questions, apart, strict=True):
        sums[question] += each - mean
    count = len(sums)
    if count < 2:
        return {"mean": round(mean, 4), "lower": None, "upper": None}
    spread = math.fsum(each * each for each in sums.values()) * count / (count - 1)
    half = student(count - 1) * math.sqrt(spread) / len(apart)
    return {
        "mean": round(mean, 4),
        "lower": round(mean - half, 4),
        "upper": round(mean + half, 4),
    }
