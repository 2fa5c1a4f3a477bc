"""What the embedded store holds of each memory for searching, and which a filter lets through."""

import math
from datetime import UTC, datetime
from typing import NamedTuple

from models.memories import GLOBAL_SCOPE
from storage.protocol import DAY_S, MAX_FADING, Filter


class Row(NamedTuple):
    """A memory without its text."""

    row_id: int
    memory_id: str
    layer: str
    scope: str
    kind: str
    confidence: float
    decay_rate: float
    created_at: str
    last_confirmed_at: str
    session_id: str | None
    place: int
    length: int
    flat: str
    """Its stems, each between bars: |run||home|."""

    @property
    def shared(self) -> bool:
        """Whether every scope sees it."""
        return self.scope == GLOBAL_SCOPE and self.kind != "episode"

    @property
    def confirmed_day(self) -> float:
        """When it was last confirmed, in days."""
        return day(self.last_confirmed_at)


def day(moment: str) -> float:
    """Return a moment in days."""
    return datetime.fromisoformat(moment).timestamp() / DAY_S


def remaining_confidence(
    confidence: float, decay_rate: float, confirmed_at: str, at: datetime
) -> float:
    """Return what is left of a confidence."""
    if decay_rate == 0:
        return confidence
    days = max(at.timestamp() / DAY_S - day(confirmed_at), 0)
    return confidence * math.exp(-min(decay_rate * days, MAX_FADING))


def fits(row: Row, among: Filter) -> bool:
    """Tell whether a filter lets a memory through, as far as a row can tell."""
    return (
        (among.layers is None or row.layer in among.layers)
        and (among.scope is None or row.scope == among.scope or row.shared)
        and remaining_confidence(row.confidence, row.decay_rate, row.last_confirmed_at, among.at)
        >= among.min_confidence
    )


def as_text(moment: datetime) -> str:
    """Return a moment so that text sorts as time does: in one zone, with a fixed width."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def as_moment(text: str | None) -> datetime | None:
    """Return the moment that a text is of, if there is one."""
    return datetime.fromisoformat(text) if text else None
