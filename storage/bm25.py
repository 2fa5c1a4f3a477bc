"""How much the words of a memory say about a query: BM25 with the usual constants.

PostgreSQL computes the same in its statement ``find`` to choose candidates; what is ranked and
shown is always computed here, so that every store gives the same numbers.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

K1 = 1.2
B = 0.75


def weights(frequencies: Sequence[int], memories: int) -> list[float]:
    """Return what each term weighs: the fewer memories have it, the more."""
    return [math.log(1 + (memories - having + 0.5) / (having + 0.5)) for having in frequencies]


def bm25(counts: Iterable[Any], length: Any, weight: Sequence[float], mean_length: float) -> Any:
    """Return the score of a memory of that length in which the terms occur so often.

    Given arrays of counts and lengths instead of numbers, it returns an array of scores.
    """
    norm = K1 * (1 - B + B * length / mean_length)
    terms = zip(weight, counts, strict=True)
    return sum((each * count * (K1 + 1) / (count + norm) for each, count in terms), 0.0 * length)
