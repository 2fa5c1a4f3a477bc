"""A search and its answer."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from models.answers import Answer
from models.errors import ErrorInfo
from models.identifiers import Identifier
from models.memories import Kind, Layer
from models.quantities import Moment, UnitInterval
from models.records import Record
from models.texts import JsonObject, OptionalQuery

MAX_LIMIT: Final = 100

Operation = Literal["search", "recall", "get"]
Mode = Literal["hybrid", "semantic", "keyword"]
Fusion = Literal["auto", "rrf", "weighted"]
Strategy = Literal["exhaustive", "targeted", "semantic-only"]

# Says in JSON Schema what _operation_has_its_argument checks.
_OPERATION_HAS_ITS_ARGUMENT: Final[JsonDict] = {
    "if": {"properties": {"operation": {"const": "get"}}, "required": ["operation"]},
    "then": {"required": ["memory_ids"], "properties": {"memory_ids": {"type": "array"}}},
    "else": {"required": ["query"], "properties": {"query": {"minLength": 1}}},
}

Layers = Annotated[tuple[Layer, ...], Field(min_length=1, strict=False)]
"""The layers to look in; to look in all of them it is left out, never empty."""


class SearchRequest(Record):
    """A search, a recall, or a get of memories by id."""

    model_config = ConfigDict(json_schema_extra=_OPERATION_HAS_ITS_ARGUMENT)

    request_id: Identifier
    """Tells this request from every other; its answer carries it."""
    tenant_id: Identifier
    """The tenant whose memories are searched."""
    session_id: Identifier
    """The session that asks."""
    query: OptionalQuery = ""
    """What to look for; a search or recall needs it, a get does not."""
    operation: Operation = "search"
    """Search by precedence of layers, recall by relevance and importance, or get by id."""
    user_id: Identifier | None = None
    """The user who asks."""
    layers: Layers | None = None
    """Only these layers."""
    scope: Identifier | None = None
    """Only this scope, and what is global; all scopes of the tenant if left out."""
    mode: Mode = "hybrid"
    """By meaning, by words, or both."""
    fusion: Fusion = "auto"
    """How both are mixed: the tenant's learned recipe, reciprocal ranks, or fixed weights."""
    strategy: Strategy | None = None
    """How far reasoning may spread or narrow the search."""
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    """At most so many results."""
    threshold: UnitInterval | None = None
    """Only results scoring at least this, in a search."""
    min_score: UnitInterval | None = None
    """Only results scoring at least this, after fusion."""
    min_confidence: UnitInterval | None = None
    """Only memories whose confidence has not faded below this."""
    filters: JsonObject | None = None
    """Only memories whose metadata has these values; at most 16 KiB."""
    memory_ids: (
        Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=MAX_LIMIT, strict=False)]
        | None
    ) = None
    """The memories to get."""
    requested_at: Moment | None = None
    """When it was asked."""

    @model_validator(mode="after")
    def _operation_has_its_argument(self) -> Self:
        if self.operation == "get":
            if self.memory_ids is None:
                raise PydanticCustomError("memory_ids_missing", "memory_ids: missing; get needs it")
        elif not self.query:
            raise PydanticCustomError(
                "query_missing",
                "query: missing or empty; {operation} needs it",
                {"operation": self.operation},
            )
        return self


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
    """Plain cosine of query and memory; null without an embedder."""
    created_at: Moment
    """When it came to be."""
    metadata: dict[str, JsonValue]
    """What its writer attached to it."""


class SearchResult(Answer):
    """The answer to a search request: the same keys whatever happened on the way."""

    results: Annotated[tuple[ScoredMemory, ...], Field(strict=False)]
    """What was found, best first."""

    @classmethod
    def failure(
        cls,
        *,
        request_id: str,
        tenant_id: str,
        session_id: str,
        error: ErrorInfo,
        completed_at: datetime,
    ) -> Self:
        """Build the answer to a request that could not be served."""
        return cls(
            request_id=request_id,
            tenant_id=tenant_id,
            session_id=session_id,
            status="error",
            results=(),
            degraded=False,
            error=error,
            completed_at=completed_at,
        )
