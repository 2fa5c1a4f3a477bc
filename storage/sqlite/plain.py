"""The same as a matrix, in plain Python: for where numpy is not installed."""

from array import array
from collections.abc import Collection, Sequence
from itertools import starmap
from operator import mul
from typing import Any

from storage.protocol import SIMILARITY_DIGITS, Filter
from storage.sqlite.rows import Row, fits


class PlainMatrix:
    """A vector and a row at each place from 0 on."""

    def __init__(self) -> None:
        self._vectors: list[array[float] | None] = []
        self._rows: list[Row] = []

    def put(self, place: int, row: Row, blob: bytes | None) -> None:
        """Set what is at a place, which may be the first after the last."""
        vector = None
        if blob is not None:
            vector = array("f")
            vector.frombytes(blob)
        self._rows[place : place + 1] = [row]
        self._vectors[place : place + 1] = [vector]

    def move(self, source: int, place: int) -> None:
        """Copy what is at one place to another."""
        self._rows[place], self._vectors[place] = self._rows[source], self._vectors[source]

    def visible(self, size: int, among: Filter, row_ids: Collection[int] | None) -> Sequence[bool]:
        """Tell for each of the first places whether the filter lets it through."""
        return [
            fits(row, among) and (row_ids is None or row.row_id in row_ids)
            for row in self._rows[:size]
        ]

    def nearest(self, query: Any, visible: Sequence[bool], limit: int) -> list[int]:
        """Return the visible places nearest to the query, and all that tie with the last."""
        places = [n for n, seen in enumerate(visible) if seen and self._vectors[n] is not None]
        if len(places) <= limit:
            return places
        scores = [score for score in self.similarities(query, places) if score is not None]
        worst = sorted(scores, reverse=True)[limit - 1]
        return [n for n, score in zip(places, scores, strict=True) if score >= worst]

    def similarities(self, query: Any, places: Sequence[int]) -> list[float | None]:
        """Return the cosine of the query to the vector at each place, if there is one."""
        return [_cosine(self._vectors[place], query) for place in places]

    def likeness(self, place: int, other: int) -> float | None:
        """Return the cosine of two places."""
        return _cosine(self._vectors[place], self._vectors[other])


def _cosine(one: Any, other: Any) -> float | None:
    if one is None or other is None:
        return None
    product: float = sum(starmap(mul, zip(one, other, strict=True)))
    return min(max(round(product, SIMILARITY_DIGITS), -1.0), 1.0)
