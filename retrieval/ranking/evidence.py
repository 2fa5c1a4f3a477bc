"""What a search found, as columns of numbers that features are computed from."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from storage import Embedding, Found
from storage.bm25 import bm25, weights

Column = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class Evidence:
    """One entry a hit in every column, in the order of the hits."""

    def __init__(self, found: Found, embedding: Embedding | None = None) -> None:
        self.found = found
        self.embedding = embedding
        self.hits = found.hits
        self.weights = weights(found.frequencies, found.memories)
        place = {hit.memory_id: n for n, hit in enumerate(self.hits)}
        self.previous: Places = np.array(
            [place.get(hit.previous or "", -1) for hit in self.hits], np.intp
        )
        self.next: Places = np.full(len(self.hits), -1, np.intp)
        following = np.flatnonzero(self.previous >= 0)
        self.next[self.previous[following]] = following

    @cached_property
    def cosine(self) -> Column:
        """Similarities; what has no vector is like nothing."""
        return np.array([hit.similarity or 0.0 for hit in self.hits])

    @cached_property
    def counts(self) -> Column:
        """A row a term, a column a hit."""
        rows = np.array([hit.counts for hit in self.hits], float)
        return rows.reshape(len(self.hits), len(self.weights)).T

    @cached_property
    def length(self) -> Column:
        """Words."""
        return np.array([hit.length for hit in self.hits], float)

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
        return np.array([float(hit.session_id is not None) for hit in self.hits])

    @cached_property
    def session(self) -> Places:
        """A number for each session, −1 for none."""
        numbers: dict[str, int] = {}
        return np.array(
            [
                -1 if hit.session_id is None else numbers.setdefault(hit.session_id, len(numbers))
                for hit in self.hits
            ],
            np.intp,
        )

    def beside(self, values: Column, neighbour: Places) -> Column:
        """Return the neighbours' values, 0 where there is no neighbour."""
        return np.where(neighbour >= 0, values[..., neighbour], 0.0)
