"""What came of a search, from all that is known of what happened after it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pydantic import Field

from learning.rewording import is_reworded
from models import (
    ContextUsage,
    Feedback,
    Outcome,
    QueryRefinement,
    Record,
    SessionAbandonment,
    Signal,
)
from models.identifiers import Identifier
from models.quantities import Moment, UnitInterval
from models.texts import Query


class Judgement(Record):
    """What somebody said of a result."""

    at: Moment
    event_id: Identifier
    quality_score: UnitInterval


class Rewording(Record):
    """A query put in other words."""

    at: Moment
    event_id: Identifier
    new_query: Query


class Aftermath(Record):
    """What is known of what happened after a search.

    Signals leave the same whatever the order in which they were heard, and however often.
    """

    used: UnitInterval | None = None
    """The best quality of any use."""
    memories: tuple[Identifier, ...] = Field(default=(), strict=False)
    """The memories used, in the order of their ids."""
    judged: Judgement | None = None
    """What was said last."""
    reworded: Rewording | None = None
    """The first rewording."""
    abandoned: bool = False

    @property
    def decisive(self) -> bool:
        """Whether it says what came of the search, whatever its session does."""
        return bool(
            self.used is not None or self.judged or self.reworded is not None or self.abandoned
        )

    def after(self, signal: Signal, at: datetime) -> "Aftermath":
        """Return what is known once a signal of that moment was heard."""
        learn = _LEARN.get(type(signal))
        return self.model_copy(update=learn(self, signal, at)) if learn else self


def outcome(
    known: Aftermath, query: str, next_query: str | None, *, expired: bool
) -> Outcome | None:
    """Return what came of a search; None while its window is open and nothing is decided.

    The next query is that of the session's next search inside the window, empty for a get.
    """
    quality = known.judged.quality_score if known.judged else known.used
    if quality is not None:
        return Outcome(type="result_used", quality_score=quality)
    if known.reworded is not None:
        return Outcome(type="query_refined", new_query=known.reworded.new_query)
    if next_query and is_reworded(query, next_query):
        return Outcome(type="query_refined", new_query=next_query)
    if known.abandoned or (expired and next_query is not None):
        return Outcome(type="result_ignored")
    return Outcome(type="no_signal") if expired else None


def _used(known: Aftermath, signal: ContextUsage, _: datetime) -> dict[str, Any]:
    if not signal.memory_ids:
        return {}  # Of the result nothing was used.
    return {
        "used": max(known.used or 0.0, signal.quality_score),
        "memories": tuple(sorted({*known.memories, *signal.memory_ids})),
    }


def _judged(known: Aftermath, signal: Feedback, at: datetime) -> dict[str, Any]:
    said = Judgement(at=at, event_id=signal.event_id, quality_score=signal.quality_score)
    return {"judged": max(known.judged or said, said, key=_by_moment)}


def _reworded(known: Aftermath, signal: QueryRefinement, at: datetime) -> dict[str, Any]:
    put = Rewording(at=at, event_id=signal.event_id, new_query=signal.new_query)
    return {"reworded": min(known.reworded or put, put, key=_by_moment)}


def _abandoned(_: Aftermath, __: SessionAbandonment, ___: datetime) -> dict[str, Any]:
    return {"abandoned": True}


def _by_moment(heard: Judgement | Rewording) -> tuple[Any, ...]:
    # What was said is part of it: two contents under one event id must not depend on order either.
    return tuple(heard.model_dump().values())


_LEARN: dict[type[Signal], Callable[[Aftermath, Any, datetime], dict[str, Any]]] = {
    ContextUsage: _used,
    Feedback: _judged,
    QueryRefinement: _reworded,
    SessionAbandonment: _abandoned,
}
