"""Texts of like length are run together, so that little of a batch is padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TokenBatch:
    """Token ids of some texts, padded to the longest, and where those texts were in the input."""

    positions: list[int]
    ids: Tokens
    mask: Tokens


def token_batches(texts: Sequence[Sequence[int]], *, budget: int) -> Iterator[TokenBatch]:
    """Yield all texts from short to long in batches of at most `budget` tokens with padding."""
    order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and len(texts[order[last]]) * (last + 1 - first) <= budget:
            last += 1
        yield _padded(texts, order[first:last])
        first = last


def _padded(texts: Sequence[Sequence[int]], positions: list[int]) -> TokenBatch:
    # Sorted, so the last is the longest. Padding is token 0, which the mask hides in any case.
    shape = (len(positions), len(texts[positions[-1]]))
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, position in enumerate(positions):
        ids[row, : len(texts[position])] = texts[position]
        mask[row, : len(texts[position])] = 1
    return TokenBatch(positions, ids, mask)
