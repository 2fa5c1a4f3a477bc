"""Between what a store is given and gives back, and the rows of the database."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from storage import words
from storage.protocol import PRIOR_EXPOSURES, Change, Filter, Hit, place_in_session
from storage.sqlite.containment import contains
from storage.sqlite.entities import named
from storage.sqlite.rows import Row, as_moment, as_text, fits, remaining_confidence


def memory_row(change: Change, number: int) -> tuple[Any, ...]:
    """Return the parameters of upsert_memory."""
    item, embedding, content = change.item, change.embedding, change.item.content or ""
    terms = words.terms(content)
    return (
        *(item.tenant_id, item.memory_id, number, item.layer, item.scope, item.kind),
        *(content, item.importance, item.confidence, item.decay_rate, item.session_id),
        *(item.position, json.dumps(item.entities or {}), item.source_path),
        *(json.dumps(item.metadata or {}), as_text(change.created_at)),
        as_text(item.last_confirmed_at or change.created_at),
        *((embedding.model, embedding.vector.tobytes()) if embedding else (None, None)),
        *(len(terms), " ".join(words.title(content)), words.folded(content)),
        *("".join(f"|{term}|" for term in terms), place_in_session(change)),
    )


def plain_hit(
    row: Sequence[Any], at: datetime, mean_rate: float | None, similarity: float | None
) -> Hit:
    """Return a memory that was asked for by its id."""
    return found_hit(row[:18], at, mean_rate, similarity, 0, None, (), None, None)


def found_hit(
    row: Sequence[Any],
    at: datetime,
    mean_rate: float | None,
    similarity: float | None,
    length: int,
    session_id: str | None,
    counts: Sequence[int],
    previous: str | None,
    likeness: float | None,
) -> Hit:
    """Return a memory that was found."""
    memory_id, layer, scope, kind, content, source_path, created_at, metadata = row[1:9]
    importance, confidence, decay_rate, confirmed_at, referenced_at, title = row[9:15]
    return Hit(
        memory_id=memory_id,
        layer=layer,
        scope=scope,
        kind=kind,
        content=content,
        source_path=source_path,
        created_at=datetime.fromisoformat(created_at),
        metadata={} if metadata == "{}" else json.loads(metadata),
        importance=importance,
        confidence=remaining_confidence(confidence, decay_rate, confirmed_at, at),
        last_referenced_at=as_moment(referenced_at),
        similarity=similarity,
        length=length,
        title=title,
        session_id=session_id,
        counts=counts,
        previous=previous,
        likeness=likeness,
        value=None if mean_rate is None else _value(row[15], row[16], mean_rate),
        questions=json.loads(row[17]) if row[17] else (),
    )


def _value(exposure: float, exposed_use: float, mean_rate: float) -> float:
    """Return how often a memory is used when it is looked at, rounded as PostgreSQL does it."""
    rate = (exposed_use + PRIOR_EXPOSURES * mean_rate) / (exposure + PRIOR_EXPOSURES)
    return round(rate * 1e6) / 1e6


def row_fits(row: Sequence[Any], among: Filter) -> bool:
    """Tell whether a filter lets a memory through."""
    row_id, memory_id, layer, scope, kind, _, _, created_at, metadata = row[:9]
    confidence, decay_rate, confirmed_at = row[10:13]
    entities = row[18]
    plain = Row(
        *(row_id, memory_id, layer, scope, kind, confidence, decay_rate, created_at),
        *(confirmed_at, None, 0, 0, ""),
    )
    return (
        fits(plain, among)
        and (among.metadata is None or contains(json.loads(metadata), among.metadata))
        and (not among.entities or named(json.loads(entities), among.entities))
    )
