"""Memories as services write them."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from models.identifiers import Identifier
from models.quantities import Count, Moment, UnitInterval
from models.records import Record
from models.texts import Content, JsonObject, SourcePath

Layer = Literal["agent", "user", "session", "project", "team", "org", "company"]

LAYER_PRECEDENCE: Final[tuple[Layer, ...]] = get_args(Layer)
"""The layers from the most specific to the most general: the more specific wins."""

Kind = Literal["fact", "rule", "episode"]

GLOBAL_SCOPE: Final = "global"

# One a layer is usual; this leaves room for a tenant's own hierarchy and keeps the row small.
MAX_ENTITIES: Final = 32

# Says in JSON Schema what _upsert_has_content checks.
_UPSERT_HAS_CONTENT: Final[JsonDict] = {
    "if": {"properties": {"op": {"const": "upsert"}}},
    "then": {"required": ["content"], "properties": {"content": {"type": "string"}}},
}


class Item(Record):
    """A memory written or deleted."""

    model_config = ConfigDict(json_schema_extra=_UPSERT_HAS_CONTENT)

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
    scope: Identifier = GLOBAL_SCOPE
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
    entities: Annotated[dict[Identifier, Identifier], Field(max_length=MAX_ENTITIES)] | None = None
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
