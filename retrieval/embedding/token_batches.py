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


@dataclass(frozen=True)
class BatchRules:
    """What is worth running together."""

    # Tokens of a batch, padding included.
    budget: int
    # Tokens of padding that one more text may cost the texts before it.
    padding: int

    def admit(self, count: int, longest: int, length: int) -> bool:
        """Say whether a text that is no shorter may join `count` texts."""
        return length * (count + 1) <= self.budget and (length - longest) * count <= self.padding


def token_batches(texts: Sequence[Sequence[int]], rules: BatchRules) -> Iterator[TokenBatch]:
    """Yield all texts, from short to long, in batches that keep to the rules."""
    order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
    batch: list[int] = []
    for position in order:
        if batch and not rules.admit(len(batch), len(texts[batch[-1]]), len(texts[position])):
            yield _padded(texts, batch)
            batch = []
        batch.append(position)
    if batch:
        yield _padded(texts, batch)


def _padded(texts: Sequence[Sequence[int]], positions: list[int]) -> TokenBatch:
    # Sorted, so the last is the longest. Padding is token 0, which the mask hides in any case.
    shape = (len(positions), len(texts[positions[-1]]))
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, position in enumerate(positions):
        ids[row, : len(texts[position])] = texts[position]
        mask[row, : len(texts[position])] = 1
    return TokenBatch(positions, ids, mask)
