"""Which memories have the words asked for: FTS5 by words, by trigrams, or text by text."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from storage import words
from storage.bm25 import bm25, weights
from storage.sqlite.index import TenantIndex
from storage.statements import statements
from storage.words import Asked

_SQL = statements("storage.sqlite")

TRIGRAM = 3
"""Shorter parts are in no trigram index."""

SCORE_DIGITS = 9


@dataclass(frozen=True)
class Matches:
    """How often each memory that matches has each of the terms asked for."""

    size: int = 0
    counts: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """By place."""

    @cached_property
    def frequencies(self) -> list[int]:
        """How many memories have each term."""
        columns = zip(*self.counts.values(), strict=True)
        return [len(column) - column.count(0) for column in columns] or [0] * self.size

    def are_any(self, visible: Sequence[bool]) -> bool:
        """Tell whether any of them is visible."""
        return any(visible[place] for place in self.counts)

    def counts_of(self, place: int) -> Sequence[int]:
        """Return how often a memory has each term."""
        return self.counts.get(place) or (0,) * self.size

    def best(self, index: TenantIndex, visible: Sequence[bool], limit: int) -> list[int]:
        """Return the visible places that the words fit best."""
        weight, mean = weights(self.frequencies, len(index.rows)), index.mean_length
        scores = {
            place: round(bm25(counts, index.rows[place].length, weight, mean), SCORE_DIGITS)
            for place, counts in self.counts.items()
            if visible[place]
        }
        return index.best(scores, limit)


class Words:
    """The full-text side of the embedded store."""

    def __init__(self, database: sqlite3.Connection, full_text: bool) -> None:
        self._database = database
        self._full_text = full_text and _has_fts5(database)

    def set_up(self) -> None:
        """Make the full-text tables, with all memories that there are, if they are not up to date.

        They cannot be kept so by a process without FTS5, which therefore says that it was here.
        """
        tables = {name for (name,) in self._database.execute(_SQL["full_text_tables"])}
        if not self._full_text:
            if tables:
                self._database.execute(_SQL["leave_behind"])
        elif "words" not in tables or "behind" in tables:
            self._make()

    def _make(self) -> None:
        for statement in ("drop_words", "drop_parts", "drop_behind", "make_words", "make_parts"):
            self._database.execute(_SQL[statement])
        for row_id, tenant_id, content in self._database.execute(_SQL["every_memory"]).fetchall():
            self.remember(row_id, tenant_id, content)

    def remember(self, row_id: int, tenant_id: str, content: str) -> None:
        """Make a memory's words found, and no longer those it had before."""
        if not self._full_text:
            return
        self.forget(row_id)
        self._database.execute(_SQL["number_tenant"], (tenant_id,))
        tokens = self._tokens(tenant_id, words.terms(content))
        self._database.execute(_SQL["remember_words"], (row_id, " ".join(tokens)))
        if words.asked(content).parts:
            self._database.execute(_SQL["remember_parts"], (row_id, words.folded(content)))

    def forget(self, row_id: int) -> None:
        """Make a memory's words no longer found."""
        if self._full_text:
            self._database.execute(_SQL["forget_words"], (row_id,))
            self._database.execute(_SQL["forget_parts"], (row_id,))

    def match(
        self, tenant_id: str, asked: Asked, index: TenantIndex, visible: Sequence[bool]
    ) -> Matches:
        """Return memories with the terms, or with all parts, or if none is visible with scraps."""
        matches = (
            self._with_parts(tenant_id, asked.parts, index)
            if asked.parts
            else self._with_terms(tenant_id, asked.terms, index)
        )
        if matches.are_any(visible) or not asked.scraps:
            return matches
        scraps = _counted(index, self._with_any(tenant_id, asked.scraps), asked.scraps, any)
        return scraps if scraps.are_any(visible) else matches

    def _with_terms(self, tenant_id: str, terms: Sequence[str], index: TenantIndex) -> Matches:
        if not terms:
            return Matches()
        places: Iterable[int] = range(len(index.rows))
        if self._full_text:
            query = " OR ".join(f'"{token}"' for token in self._tokens(tenant_id, terms))
            rows = self._database.execute(_SQL["with_words"], (query,))
            places = index.places([row_id for (row_id,) in rows])
        barred = [f"|{term}|" for term in terms]
        counts = {}
        for place in places:
            flat = index.rows[place].flat
            found = [flat.count(term) for term in barred]
            if any(found):
                counts[place] = found
        return Matches(len(terms), counts)

    def _with_parts(self, tenant_id: str, parts: Sequence[str], index: TenantIndex) -> Matches:
        long = [part for part in parts if len(part) >= TRIGRAM]
        if self._full_text and long:
            query = " AND ".join('"' + part.replace('"', '""') + '"' for part in long)
            rows = self._database.execute(_SQL["with_parts"], (query, tenant_id))
            return _counted(index, rows, parts, all)
        return _counted(index, self._with_any(tenant_id, parts), parts, all)

    def _with_any(self, tenant_id: str, scraps: Sequence[str]) -> Iterator[tuple[int, str]]:
        return self._database.execute(_SQL["with_any"], (tenant_id, json.dumps(scraps)))

    def _tokens(self, tenant_id: str, terms: Iterable[str]) -> list[str]:
        row = self._database.execute(_SQL["tenant_number"], (tenant_id,)).fetchone()
        number = row[0] if row else 0
        return [f"{number}x{_spelled(term)}" for term in terms]


def _counted(
    index: TenantIndex,
    rows: Iterable[tuple[int, str]],
    parts: Sequence[str],
    enough: Callable[[Iterable[int]], bool],
) -> Matches:
    """Return the memories whose texts have enough of the parts."""
    found = {row_id: [text.count(part) for part in parts] for row_id, text in rows}
    matching = {row_id: counts for row_id, counts in found.items() if enough(counts)}
    places = index.places(matching)
    return Matches(len(parts), dict(zip(places, matching.values(), strict=True)))


def _spelled(term: str) -> str:
    # What SQLite takes for a letter is older than Python's idea of it: other letters are spelled.
    return term if term.isascii() else f"x{term.encode().hex()}"


def _has_fts5(database: sqlite3.Connection) -> bool:
    try:
        database.execute(
            "CREATE VIRTUAL TABLE temp.fts5_probe USING fts5 (x, tokenize = 'trigram')"
        )
    except sqlite3.OperationalError:
        return False
    database.execute("DROP TABLE temp.fts5_probe")
    return True
