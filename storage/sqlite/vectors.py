"""One tenant's vectors of one model as a matrix, kept in step with the rows of the database."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.memories import GLOBAL_SCOPE
from storage.protocol import SIMILARITY_DIGITS, Vector

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """What ranking needs to know of a memory besides its vector."""

    row_id: int
    memory_id: str
    layer: str
    scope: str
    kind: str
    created_at: str

    def fits(self, layers: Sequence[str] | None, scope: str | None) -> bool:
        """Tell whether the memory is in these layers and visible in this scope."""
        if layers is not None and self.layer not in layers:
            return False
        shared = self.scope == GLOBAL_SCOPE and self.kind != "episode"
        return scope is None or self.scope == scope or shared


class TenantVectors:
    """Rows and their vectors; vectors lie side by side so that one product scores them all."""

    def __init__(self) -> None:
        self.change = 0
        """The last change of the database that is in here."""
        self._rows: list[Row] = []
        self._place: dict[int, int] = {}
        self._matrix: Vector = np.empty((0, 0), np.float32)

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

    def remove(self, row_id: int) -> None:
        """Drop a row if it is there: the last one takes its place."""
        place = self._place.pop(row_id, None)
        if place is None:
            return
        last = self._rows.pop()
        if last.row_id != row_id:
            self._rows[place] = last
            self._matrix[place] = self._matrix[len(self._rows)]
            self._place[last.row_id] = place

    def nearest(
        self, query: Vector, limit: int, layers: Sequence[str] | None, scope: str | None
    ) -> list[tuple[int, float]]:
        """Return the row ids nearest to the query with their cosines, best first."""
        places = self._fitting(layers, scope)
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

    def _fitting(self, layers: Sequence[str] | None, scope: str | None) -> npt.NDArray[np.intp]:
        if layers is None and scope is None:
            return np.arange(len(self._rows))
        fitting = [place for place, row in enumerate(self._rows) if row.fits(layers, scope)]
        return np.array(fitting, np.intp)

    def _in_order(
        self, places: npt.NDArray[np.intp], similarities: Scores
    ) -> list[tuple[int, float]]:
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
            grown = np.empty((max(64, 2 * rows), dimensions), np.float32)
            if self._rows:
                grown[: len(self._rows)] = self._matrix[: len(self._rows)]
            self._matrix = grown
