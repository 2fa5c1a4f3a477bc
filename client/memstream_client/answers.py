"""What memstream answers."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from memstream_client.records import (
    Count,
    EchoedIdentifier,
    Identifier,
    Kind,
    Layer,
    MemoryIds,
    Moment,
    Record,
    UnitInterval,
)

ErrorCode = Literal[
    "invalid_request", "unauthorized", "forbidden", "too_large", "unavailable", "internal"
]


class ErrorInfo(Record):
    """Why a request failed."""

    code: ErrorCode
    """The kind of failure, for programs."""
    message: str
    """The failure in words, for people."""


class Answer(Record):
    """What every answer has."""

    request_id: EchoedIdentifier
    """The request answered; signals about the answer name it."""
    tenant_id: EchoedIdentifier
    """The tenant of the request."""
    session_id: EchoedIdentifier
    """The session of the request."""
    status: Literal["ok", "error"]
    """Whether the request was served."""
    degraded: bool
    """Whether something helpful had to be left out to answer in time."""
    error: ErrorInfo | None
    """Why it was not served; None when it was."""
    completed_at: Moment
    """When the answer was ready."""


class ScoredMemory(Record):
    """One memory found."""

    memory_id: Identifier
    """The memory."""
    layer: Layer
    """How widely it applies."""
    scope: Identifier
    """Where it applies within the tenant."""
    kind: Kind
    """What sort of memory it is."""
    content: str
    """Its text."""
    score: UnitInterval
    """How well it fits, on the scale of the fusion asked for."""
    similarity: Annotated[float, Field(ge=-1, le=1)] | None
    """Plain cosine of query and memory; None without an embedder."""
    created_at: Moment
    """When it came to be."""
    metadata: dict[str, JsonValue]
    """What its writer attached to it."""


class SearchResult(Answer):
    """What a search, recall or get found."""

    results: Annotated[tuple[ScoredMemory, ...], Field(strict=False)]
    """What was found, best first."""


class ContextAssembled(Answer):
    """Memories packed into a token budget."""

    context: str
    """The packed text."""
    memory_ids: MemoryIds
    """The memories in it, in order."""
    tokens: Count
    """How many tokens the text has."""
