"""What a search found, as columns of numbers that features are computed from."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from storage import Embedding, Found, Hit
from storage.bm25 import bm25, weights

Column = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_NOTHING: tuple[tuple[()], ...] = ((),) * len(Hit._fields)


class Evidence:
    """One entry a hit in every column, in the order of the hits."""

    def __init__(self, found: Found, embedding: Embedding | None = None) -> None:
        self.found = found
        self.embedding = embedding
        self.hits = found.hits
        self.told = _by_field(found.hits)
        self.weights = weights(found.frequencies, found.memories)
        place = {memory_id: n for n, memory_id in enumerate(self.told.memory_id)}
        self.previous: Places = np.array(
            [place.get(memory_id, -1) for memory_id in self.told.previous], np.intp
        )
        self.next: Places = np.full(len(self.hits), -1, np.intp)
        following = np.flatnonzero(self.previous >= 0)
        self.next[self.previous[following]] = following

    @cached_property
    def cosine(self) -> Column:
        """Similarities; what has no vector is like nothing."""
        return numbers(self.told.similarity)

    @cached_property
    def counts(self) -> Column:
        """A row a term, a column a hit."""
        rows = np.array(self.told.counts, float)
        return rows.reshape(len(self.hits), len(self.weights)).T

    @cached_property
    def length(self) -> Column:
        """Words."""
        return np.array(self.told.length, float)

    @cached_property
    def bm25(self) -> Column:
        """How well the words fit."""
        return self.words_fit(self.counts, self.length)

    def words_fit(self, counts: Column, lengths: Column, texts: int = 1) -> Column:
        """Return BM25 of texts that are made of so many memories each."""
        scores: Column = bm25(counts, lengths, self.weights, texts * self.found.mean_length)
        return scores

    @cached_property
    def inside(self) -> Column:
        """1 for memories that belong to a session, else 0."""
        return (self.session >= 0).astype(float)

    @cached_property
    def session(self) -> Places:
        """A number for each session, −1 for none."""
        names = [name for name in dict.fromkeys(self.told.session_id) if name is not None]
        number = {None: -1, **{name: place for place, name in enumerate(names)}}
        return np.array([number[name] for name in self.told.session_id], np.intp)

    def beside(self, values: Column, neighbour: Places) -> Column:
        """Return the neighbours' values, 0 where there is no neighbour."""
        return np.where(neighbour >= 0, values[..., neighbour], 0.0)


def _by_field(hits: Sequence[Hit]) -> Any:
    """Return what is told of hits, field by field: one by one takes longer with some hundreds."""
    return Hit._make(zip(*hits, strict=True) if hits else _NOTHING)


def numbers(values: Sequence[float | None]) -> Column:
    """Return the values as a column, 0 for those that are not known."""
    column = np.array(values, float)
    column[np.isnan(column)] = 0.0
    return column
