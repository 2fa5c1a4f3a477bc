"""The memories that may answer a query, and which of them follow each other."""

from collections.abc import Iterable, Iterator, Sequence

from storage.protocol import Vector
from storage.sqlite.index import TenantIndex
from storage.sqlite.rows import Row


class Pool:
    """Places of an index, with the place before each where that is known."""

    def __init__(self, index: TenantIndex, best: Iterable[int]) -> None:
        self._index = index
        self._places = list(best)
        self._before: dict[int, int] = {}

    def look_around(self, places: Iterable[int], visible: Sequence[bool]) -> None:
        """Add the memories just before and after some that are in."""
        for place in places:
            earlier = self._index.neighbour(place, -1, visible)
            later = self._index.neighbour(place, 1, visible)
            if earlier is not None:
                self._before[place] = earlier
            if later is not None:
                self._before[later] = place
        self._places = list(
            dict.fromkeys([*self._places, *self._before.keys(), *self._before.values()])
        )

    def members(
        self, query: Vector | None
    ) -> Iterator[tuple[int, Row, float | None, tuple[str | None, float | None]]]:
        """Yield place, row, similarity, and the memory before it with their likeness."""
        similarities = (
            [None] * len(self._places)
            if query is None
            else self._index.matrix.similarities(query, self._places)
        )
        for place, similarity in zip(self._places, similarities, strict=True):
            yield place, self._index.rows[place], similarity, self._previous(place)

    def _previous(self, place: int) -> tuple[str | None, float | None]:
        before = self._before.get(place)
        if before is None:
            return None, None
        return self._index.rows[before].memory_id, self._index.matrix.likeness(place, before)
