"""What happened to a result afterwards: the events that learning learns from."""

from typing import Annotated

from pydantic import Field

from models.identifiers import Identifier
from models.quantities import Moment, UnitInterval
from models.records import Record
from models.texts import Query


class Signal(Record):
    """What every signal carries."""

    event_id: Identifier
    """Tells this event from every other; a repeated one changes nothing."""
    tenant_id: Identifier
    """The tenant of the search."""
    session_id: Identifier
    """The session of the search."""
    occurred_at: Moment | None = None
    """When it happened, if not when it was received."""


class ContextUsage(Signal):
    """Memories of a result were used."""

    request_id: Identifier
    """The search that returned them."""
    memory_ids: Annotated[tuple[Identifier, ...], Field(strict=False)]
    """The memories used."""
    quality_score: UnitInterval = 1.0
    """How much they helped."""


class QueryRefinement(Signal):
    """A query was reworded, so its result was not quite what was wanted."""

    request_id: Identifier
    """The search that was not good enough."""
    new_query: Query
    """The query as reworded."""
    new_request_id: Identifier | None = None
    """The search made with it."""


class SessionAbandonment(Signal):
    """A session ended without touching its results."""

    request_id: Identifier | None = None
    """The search abandoned; every open search of the session if left out."""


class Feedback(Signal):
    """Somebody said how good a result was."""

    request_id: Identifier
    """The search judged."""
    quality_score: UnitInterval
    """How good it was."""
    memory_id: Identifier | None = None
    """The one memory judged; the whole result if left out."""
