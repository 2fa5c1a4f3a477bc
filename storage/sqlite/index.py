"""One tenant's memories as searching needs them, kept in step with the rows of the database."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from heapq import nlargest
from typing import Any

from storage.protocol import Filter
from storage.sqlite.rows import Row

try:
    from storage.sqlite.matrix import Matrix
except ImportError:  # pragma: no cover — a test without numpy runs in a process of its own
    from storage.sqlite.plain import PlainMatrix as Matrix  # type: ignore[assignment]


class TenantIndex:
    """Rows at places from 0 on, their vectors, and their order within sessions."""

    def __init__(self) -> None:
        self.change = 0
        """The last change of the database that is in here."""
        self.rows: list[Row] = []
        self.matrix = Matrix()
        self._place: dict[int, int] = {}
        self._sessions: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
        self._length = 0

    @property
    def mean_length(self) -> float:
        """How many words a memory has on average."""
        return max(self._length / max(len(self.rows), 1), 1e-9)

    def put(self, row: Row, blob: bytes | None) -> None:
        """Add a row or replace it."""
        self.remove(row.row_id)
        place = len(self.rows)
        self.matrix.put(place, row, blob)
        self.rows.append(row)
        self._place[row.row_id] = place
        self._length += row.length
        if row.session_id is not None:
            insort(self._sessions[row.session_id], (row.place, row.memory_id, row.row_id))

    def remove(self, row_id: int) -> None:
        """Drop a row if it is there: the last one takes its place."""
        place = self._place.pop(row_id, None)
        if place is None:
            return
        row, last = self.rows[place], self.rows.pop()
        self._length -= row.length
        if row.session_id is not None:
            session = self._sessions[row.session_id]
            session.remove((row.place, row.memory_id, row.row_id))
            if not session:
                del self._sessions[row.session_id]
        if last.row_id != row_id:
            self.rows[place] = last
            self.matrix.move(len(self.rows), place)
            self._place[last.row_id] = place

    def places(self, row_ids: Collection[int]) -> Iterator[int]:
        """Return where rows are, leaving out those that are not here."""
        return (self._place[row_id] for row_id in row_ids if row_id in self._place)

    def visible(self, among: Filter, row_ids: Collection[int] | None) -> Sequence[bool]:
        """Tell for each place whether the filter lets it through."""
        return self.matrix.visible(len(self.rows), among, row_ids)

    def best(self, scores: dict[int, float], limit: int) -> list[int]:
        """Return the places with the highest scores, ties newest first and then by id."""
        if len(scores) > limit:
            worst = nlargest(limit, scores.values())[-1]
            scores = {place: score for place, score in scores.items() if score >= worst}
        ordered = sorted(scores, key=lambda place: self.rows[place].memory_id)
        ordered.sort(key=lambda place: self.rows[place].created_at, reverse=True)
        ordered.sort(key=scores.__getitem__, reverse=True)
        return ordered[:limit]

    def nearest(self, query: Any, visible: Sequence[bool], limit: int) -> list[int]:
        """Return the visible places nearest to the query."""
        places = self.matrix.nearest(query, visible, limit)
        similarities = self.matrix.similarities(query, places)
        scores = {
            place: score
            for place, score in zip(places, similarities, strict=True)
            if score is not None
        }
        return self.best(scores, limit)

    def similarities(self, query: Any, row_ids: Collection[int]) -> dict[int, float | None]:
        """Return the cosine of the query to the vector of each row, if it has one."""
        places = list(self.places(row_ids))
        similarities = self.matrix.similarities(query, places)
        return {
            self.rows[place].row_id: similarity
            for place, similarity in zip(places, similarities, strict=True)
        }

    def neighbour(self, place: int, step: int, visible: Sequence[bool]) -> int | None:
        """Return the next visible place before (step −1) or after (step 1) in the same session."""
        row = self.rows[place]
        if row.session_id is None:
            return None
        session = self._sessions[row.session_id]
        at = bisect_left(session, (row.place, row.memory_id, row.row_id)) + step
        while 0 <= at < len(session):
            found = self._place[session[at][2]]
            if visible[found]:
                return found
            at += step
        return None
