"""What can be written: memories, and what happened to a result afterwards."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from memstream_client.records import (
    Content,
    Count,
    Identifier,
    JsonObject,
    Kind,
    Layer,
    MemoryIds,
    Moment,
    Query,
    Record,
    SourcePath,
    UnitInterval,
)


class Item(Record):
    """A memory written or deleted."""

    event_id: Identifier
    """Tells this event from every other; a repeated one changes nothing."""
    tenant_id: Identifier
    """The tenant that owns the memory."""
    memory_id: Identifier
    """The memory, unique within its tenant."""
    op: Literal["upsert", "delete"] = "upsert"
    """Whether to write or delete it."""
    content: Content | None = None
    """The text to remember; an upsert needs it, a delete does not."""
    layer: Layer = "user"
    """How widely it applies."""
    scope: Identifier = "global"
    """Where it applies within the tenant."""
    kind: Kind = "fact"
    """What sort of memory it is."""
    importance: Annotated[float, Field(ge=0, le=10)] = 5.0
    """How much it matters, 0 to 10."""
    confidence: UnitInterval = 1.0
    """How sure the writer was when it was last confirmed."""
    decay_rate: Annotated[float, Field(ge=0)] = 0.0
    """How fast confidence fades, per day since it was last confirmed."""
    session_id: Identifier | None = None
    """The conversation or document it belongs to."""
    position: Count | None = None
    """Its place in that conversation or document."""
    entities: Annotated[dict[Identifier, Identifier], Field(max_length=32)] | None = None
    """The entities it is about by layer, such as {"org": "platform", "team": "api"}."""
    source_path: SourcePath | None = None
    """The file it came from; a dated file's memories decay."""
    metadata: JsonObject | None = None
    """Anything else the writer wants back; at most 16 KiB."""
    created_at: Moment | None = None
    """When it came to be, if not when it was received."""
    last_confirmed_at: Moment | None = None
    """When it was last known to be true, if not when it was created."""

    @model_validator(mode="after")
    def _upsert_has_content(self) -> Self:
        if self.op == "upsert" and self.content is None:
            raise PydanticCustomError("content_missing", "content: missing; an upsert needs it")
        return self


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
    memory_ids: MemoryIds
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


class SignalOptions(TypedDict, total=False):
    """What every signal can be given."""

    event_id: str
    """Its id; a new one if left out. The same again changes nothing."""
    occurred_at: datetime
    """When it happened; now if left out."""


class MemoryOptions(TypedDict, total=False):
    """What a memory can be given; each is explained at ``Item``."""

    event_id: str
    memory_id: str
    layer: Layer
    scope: str
    kind: Kind
    importance: float
    confidence: float
    decay_rate: float
    session_id: str | None
    position: int | None
    entities: Mapping[str, str] | None
    source_path: str | None
    metadata: Mapping[str, Any] | None
    created_at: datetime
    last_confirmed_at: datetime | None
