"""One tenant's vectors of one model as a matrix, kept in step with the rows of the database."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from models.memories import GLOBAL_SCOPE
from storage.protocol import MAX_FADING, SIMILARITY_DIGITS, Filter, Vector

Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Row:
    """What finding needs to know of a memory besides its vector."""

    row_id: int
    memory_id: str
    layer: str
    scope: str
    kind: str
    confidence: float
    decay_rate: float
    created_at: str
    last_confirmed_at: str

    @property
    def facts(self) -> tuple[float, ...]:
        """What is compared for all rows at once, as numbers."""
        return (
            self.row_id,
            _number(self.layer),
            _number(self.scope),
            self.scope == GLOBAL_SCOPE and self.kind != "episode",
            self.confidence,
            self.decay_rate,
            datetime.fromisoformat(self.last_confirmed_at).timestamp() / DAY_S,
        )


def _number(text: str) -> float:
    # Equal texts have equal numbers for as long as the process lives, which is all that is needed;
    # 48 bits fit a float exactly, and among thousands of scopes none will share one.
    return float(hash(text) & 0xFFFF_FFFF_FFFF)


class TenantVectors:
    """Rows and their vectors; vectors lie side by side so that one product scores them all."""

    def __init__(self) -> None:
        self.change = 0
        """The last change of the database that is in here."""
        self._rows: list[Row] = []
        self._place: dict[int, int] = {}
        self._matrix: Vector = np.empty((0, 0), np.float32)
        self._facts = np.empty((0, 7))

    def put(self, row: Row, vector: Vector) -> None:
        """Add a row or replace it."""
        place = self._place.get(row.row_id)
        if place is None:
            place = len(self._rows)
            self._reserve(place + 1, vector.shape[0])
            self._place[row.row_id] = place
            self._rows.append(row)
        self._rows[place] = row
        self._matrix[place] = vector
        self._facts[place] = row.facts

    def remove(self, row_id: int) -> None:
        """Drop a row if it is there: the last one takes its place."""
        place = self._place.pop(row_id, None)
        if place is None:
            return
        last = self._rows.pop()
        if last.row_id != row_id:
            end = len(self._rows)
            self._rows[place] = last
            self._matrix[place] = self._matrix[end]
            self._facts[place] = self._facts[end]
            self._place[last.row_id] = place

    def nearest(
        self, query: Vector, among: Filter, row_ids: set[int] | None, limit: int
    ) -> list[tuple[int, float]]:
        """Return the row ids nearest to the query with their cosines, best first."""
        places = self._fitting(among, row_ids)
        if places.size == 0:
            return []
        scores = (self._matrix[: len(self._rows)] @ query)[places]
        # Unit vectors are so only to seven digits: their product may be a little above 1.
        similarities: Scores = scores.astype(np.float64).round(SIMILARITY_DIGITS).clip(-1, 1)
        if places.size > limit:
            # Everything that ties with the last place stays in, so that the order below decides.
            worst = np.partition(similarities, -limit)[-limit]
            keep = similarities >= worst
            places, similarities = places[keep], similarities[keep]
        return self._in_order(places, similarities)[:limit]

    def _fitting(self, among: Filter, row_ids: set[int] | None) -> Places:
        row_id, layer, scope, shared, confidence, decay, confirmed = self._facts[
            : len(self._rows)
        ].T
        days = np.maximum(among.at.timestamp() / DAY_S - confirmed, 0)
        fits = confidence * np.exp(-np.minimum(decay * days, MAX_FADING)) >= among.min_confidence
        if among.layers is not None:
            fits &= np.isin(layer, [_number(name) for name in among.layers])
        if among.scope is not None:
            fits &= (scope == _number(among.scope)) | (shared > 0)
        if row_ids is not None:
            fits &= np.isin(row_id, list(row_ids))
        return np.flatnonzero(fits)

    def _in_order(self, places: Places, similarities: Scores) -> list[tuple[int, float]]:
        found = [
            (self._rows[place], float(score))
            for place, score in zip(places, similarities, strict=True)
        ]
        found.sort(key=lambda pair: pair[0].memory_id)
        found.sort(key=lambda pair: (pair[1], pair[0].created_at), reverse=True)
        return [(row.row_id, score) for row, score in found]

    def _reserve(self, rows: int, dimensions: int) -> None:
        if rows > self._matrix.shape[0]:
            # Doubling keeps the cost of growing at a constant share of each insertion.
            room, used = max(64, 2 * rows), len(self._rows)
            matrix, facts = np.empty((room, dimensions), np.float32), np.empty((room, 7))
            if used:
                matrix[:used], facts[:used] = self._matrix[:used], self._facts[:used]
            self._matrix, self._facts = matrix, facts
