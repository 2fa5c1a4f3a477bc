"""What can be asked."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from memstream_client.records import (
    MAX_LIMIT,
    Fusion,
    Identifier,
    JsonObject,
    Layer,
    Layers,
    Mode,
    Moment,
    OptionalQuery,
    Query,
    Record,
    Strategy,
    UnitInterval,
)


class SearchRequest(Record):
    """A search, a recall, or a get of memories by id."""

    request_id: Identifier
    """Tells this request from every other; its answer carries it."""
    tenant_id: Identifier
    """The tenant whose memories are searched."""
    session_id: Identifier
    """The session that asks."""
    query: OptionalQuery = ""
    """What to look for; a search or recall needs it, a get does not."""
    operation: Literal["search", "recall", "get"] = "search"
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
        if self.operation == "get" and self.memory_ids is None:
            raise PydanticCustomError("memory_ids_missing", "memory_ids: missing; get needs it")
        if self.operation != "get" and not self.query:
            raise PydanticCustomError("query_missing", "query: missing or empty")
        return self


class ContextRequest(Record):
    """A wish for the memories that help with a query, packed into a token budget."""

    request_id: Identifier
    """Tells this request from every other; its answer carries it."""
    tenant_id: Identifier
    """The tenant whose memories are searched."""
    session_id: Identifier
    """The session that asks."""
    query: Query
    """What the context is for."""
    token_budget: Annotated[int, Field(ge=1, le=1_000_000)] = 2000
    """The context never has more tokens than this."""
    layers: Layers | None = None
    """Only these layers."""
    scope: Identifier | None = None
    """Only this scope, and what is global; all scopes of the tenant if left out."""


class Asking(TypedDict, total=False):
    """What every request can be given."""

    request_id: str
    """Its id; a new one if left out. The same again is the same request."""
    timeout: float
    """How many seconds to wait for the answer, if not as long as the client does."""


class ContextOptions(Asking, total=False):
    """What a context request can be given; each is explained at ``ContextRequest``."""

    layers: Sequence[Layer] | None
    scope: str | None


class GetOptions(Asking, total=False):
    """What a get can be given; each is explained at ``SearchRequest``."""

    user_id: str | None
    requested_at: datetime | None


class SearchOptions(GetOptions, total=False):
    """What a search or recall can be given; each is explained at ``SearchRequest``."""

    layers: Sequence[Layer] | None
    scope: str | None
    mode: Mode
    fusion: Fusion
    strategy: Strategy | None
    limit: int
    threshold: float | None
    min_score: float | None
    min_confidence: float | None
    filters: Mapping[str, Any] | None
