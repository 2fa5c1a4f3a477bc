"""Vectors side by side, so that one product compares a query with all of them."""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from storage.protocol import DAY_S, MAX_DECAY, MAX_FADING, SIMILARITY_DIGITS, Filter, Vector
from storage.sqlite.rows import Row

FACTS = 8
GROUP = 64
"""So many scores are compared at once: a bound that is near enough, from 64 times fewer."""
TIE = 2 * 10.0**-SIMILARITY_DIGITS
"""Similarities nearer than this may be equal once they are rounded."""


class Matrix:
    """A vector and the facts that filters ask for at each place from 0 on."""

    def __init__(self) -> None:
        self._vectors: Vector = np.empty((0, 0), np.float32)
        # A row a fact, so that what one filter looks at lies side by side.
        self._facts = np.empty((FACTS, 0))

    def put(self, place: int, row: Row, blob: bytes | None) -> None:
        """Set what is at a place, which may be the first after the last."""
        vector = None if blob is None else np.frombuffer(blob, np.float32)
        self._reserve(place, 0 if vector is None else vector.shape[0])
        self._vectors[place] = 0 if vector is None else vector
        self._facts[:, place] = (
            *(row.row_id, _number(row.layer), _number(row.scope), row.shared),
            *(row.confidence, row.decay_rate, row.confirmed_day, vector is not None),
        )

    def move(self, source: int, place: int) -> None:
        """Copy what is at one place to another."""
        self._vectors[place] = self._vectors[source]
        self._facts[:, place] = self._facts[:, source]

    def visible(self, size: int, among: Filter, row_ids: Collection[int] | None) -> Sequence[bool]:
        """Tell for each of the first places whether the filter lets it through."""
        row_id, layer, scope, shared, confidence, decay, confirmed, _ = self._facts[:, :size]
        if decay.any():
            days = np.maximum(among.at.timestamp() / DAY_S - confirmed, 0)
            fading = np.minimum(np.minimum(decay, MAX_DECAY) * days, MAX_FADING)
            confidence = confidence * np.exp(-fading)
        fits: npt.NDArray[np.bool_] = confidence >= among.min_confidence
        if among.layers is not None:
            fits &= np.isin(layer, [_number(name) for name in among.layers])
        if among.scope is not None:
            fits &= (scope == _number(among.scope)) | (shared > 0)
        if row_ids is not None:
            fits &= np.isin(row_id, list(row_ids))
        return fits  # type: ignore[return-value] # an array of them is a sequence in all but name

    def nearest(self, query: Vector, visible: Sequence[bool], limit: int) -> list[int]:
        """Return the visible places nearest to the query, and all that tie with the last."""
        size = len(visible)
        fits = np.asarray(visible) & (self._facts[7, :size] > 0)
        if np.count_nonzero(fits) > limit:
            scores = self._vectors[:size] @ query
            if not fits.all():
                scores[~fits] = -np.inf
            fits &= scores >= _nth_highest(scores, limit) - TIE
        found: list[int] = np.flatnonzero(fits).tolist()
        return found

    def similarities(self, query: Vector, places: Sequence[int]) -> list[float | None]:
        """Return the cosine of the query to the vector at each place, if there is one."""
        if self._vectors.shape[1] == 0:
            return [None] * len(places)
        chosen = np.asarray(places, np.intp)
        # In double precision, so that a score does not depend on what else is scored with it.
        scores = _rounded(self._vectors[chosen].astype(np.float64) @ query.astype(np.float64))
        return [
            float(score) if present else None
            for score, present in zip(scores, self._facts[7, chosen], strict=True)
        ]

    def likeness(self, place: int, other: int) -> float | None:
        """Return the cosine of two places."""
        if not self._facts[7, place] or not self._facts[7, other]:
            return None
        one, two = self._vectors[[place, other]].astype(np.float64)
        return float(_rounded(one @ two))

    def _reserve(self, place: int, dimensions: int) -> None:
        room, width = self._vectors.shape
        if place >= room or dimensions > width:
            # Doubling keeps the cost of growing at a constant share of each insertion.
            grown = max(64, 2 * place, room)
            vectors = np.zeros((grown, max(width, dimensions)), np.float32)
            facts = np.empty((FACTS, grown))
            vectors[:room, :width], facts[:, :room] = self._vectors, self._facts
            self._vectors, self._facts = vectors, facts


def _nth_highest(scores: Vector, number: int) -> float:
    """Return the n-th highest score, first leaving out nearly all that cannot be among them.

    As many groups as that have a highest score each; the lowest of these is a bound for it.
    """
    groups = len(scores) // GROUP
    if groups > number:
        highest = scores[: GROUP * groups].reshape(GROUP, groups).max(0)
        scores = scores[scores >= np.partition(highest, -number)[-number]]
    return float(np.partition(scores, -number)[-number])


def _number(text: str) -> float:
    # Equal texts have equal numbers for as long as the process lives, which is all that is needed;
    # 48 bits fit a float exactly, and among thousands of scopes none will share one.
    return float(hash(text) & 0xFFFF_FFFF_FFFF)


def _rounded(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # Unit vectors are so only to seven digits: their product may be a little above 1.
    rounded: npt.NDArray[np.float64] = products.round(SIMILARITY_DIGITS).clip(-1, 1)
    return rounded
