"""Between what a store is given and gives back, and the rows of the database."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from storage import words
from storage.protocol import Change, Found, Hit, place_in_session


def memory_row(change: Change) -> tuple[Any, ...]:
    """Return the parameters of upsert_memory."""
    item, embedding, content = change.item, change.embedding, change.item.content or ""
    terms = words.terms(content)
    return (
        *(item.tenant_id, item.memory_id, item.layer, item.scope, item.kind, content),
        *(item.importance, item.confidence, item.decay_rate, item.session_id, item.position),
        *(item.entities or {}, item.source_path, item.metadata or {}),
        *(change.created_at, item.last_confirmed_at or change.created_at),
        *((embedding.model, embedding.vector) if embedding else (None, None)),
        *(len(terms), " ".join(words.title(content)), words.folded(content)),
        *(place_in_session(change), sorted(set(terms))),
    )


def posting_columns(changes: Sequence[Change]) -> tuple[list[str], list[str], list[int]]:
    """Return memory, term and count of every word of every memory."""
    postings = [
        (change.item.memory_id, term, count)
        for change in changes
        for term, count in sorted(Counter(words.terms(change.item.content or "")).items())
    ]
    return (
        [memory_id for memory_id, _, _ in postings],
        [term for _, term, _ in postings],
        [count for _, _, count in postings],
    )


def found_rows(rows: Sequence[Any], terms: int) -> Found:
    """Return what was found by so many terms."""
    first = next((row for row in rows if row["memories"] is not None), None)
    if first is None:
        return Found()
    nothing = [0] * terms
    return Found(
        # There are some hundreds of them, and somebody waits.
        hits=[
            Hit._make(
                (
                    *row[:15],
                    _spread(row[19], 20, terms) if row[19] else nothing,
                    *row[15:18],
                    row[18] or (),
                )
            )
            for row in rows
        ],
        frequencies=_spread(first["frequencies"] or (), 32, terms),
        memories=first["memories"],
        mean_length=first["mean_length"],
        mean_rate=first["mean_rate"],
    )


def _spread(packed: Sequence[int], bits: int, size: int) -> list[int]:
    """Return numbers where the ordinals above them, counted from 1, say they belong, else 0."""
    spread = [0] * size
    below = (1 << bits) - 1
    for each in packed:
        spread[(each >> bits) - 1] = each & below
    return spread
