"""What a tenant may have its own way, and the service's way of doing it."""

from math import isfinite
from typing import Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from models.contexts import MAX_TOKEN_BUDGET
from models.identifiers import Identifier
from models.quantities import UnitInterval
from models.records import Record

# A tenant's overrides are read up to once a second by every worker: they should stay small.
MAX_SCOPES: Final = 100

Weight = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
TokenBudget = Annotated[int, Field(ge=1, le=MAX_TOKEN_BUDGET)]
MAX_REPLY_TOPICS: Final = 100
ReplyTopics = Annotated[
    tuple[Annotated[str, Field(pattern=r"^(\*|[A-Za-z0-9._-]{1,249}\*?)$")], ...],
    Field(max_length=MAX_REPLY_TOPICS, strict=False),
]
LatencyBudget = Annotated[float, Field(gt=0)]


def _refuse_unusable(*weights: float) -> None:
    """Raise for weights by whose sum a score could not be divided."""
    if not (sum(weights) > 0 and isfinite(sum(weights))):
        raise PydanticCustomError(
            "weights_without_sum", "At least one weight should be above 0, and their sum finite"
        )


class ScopeWeights(Record):
    """How much each part of a memory's score counts in a recall."""

    relevance: Weight = 0.4
    """How well it fits the query."""
    importance: Weight = 0.3
    """How much it matters, as its writer said."""
    recency: Weight = 0.2
    """How lately it was returned."""
    confidence: Weight = 0.1
    """How sure it still is."""
    value: Weight = 0.0
    """How often it was used when it was looked at; left out unless a tenant wants it."""

    @model_validator(mode="after")
    def _can_be_divided_by(self) -> Self:
        _refuse_unusable(self.relevance, self.importance, self.recency, self.confidence, self.value)
        return self


class RecallWeights(ScopeWeights):
    """The weights of a tenant's recalls, and those of single scopes."""

    scopes: Annotated[dict[Identifier, ScopeWeights], Field(max_length=MAX_SCOPES)] | None = None
    """Weights of recalls that name one of these scopes."""

    def of(self, scope: str | None) -> ScopeWeights:
        """Return the weights of a recall in the scope; None is a recall that names none."""
        return self if scope is None else (self.scopes or {}).get(scope, self)


class FusionWeights(Record):
    """How much each side counts where a search asks for fixed weights."""

    vector: Weight = 0.7
    """Found by meaning."""
    keyword: Weight = 0.3
    """Found by words."""

    @model_validator(mode="after")
    def _can_be_divided_by(self) -> Self:
        _refuse_unusable(self.vector, self.keyword)
        return self


class InForce(Record):
    """What a tenant is served by. The defaults are the service's, but for what settings choose."""

    routing_threshold: UnitInterval = 0.3
    """Queries at least this complex are decomposed."""
    rlm_enabled: bool = True
    """Whether queries are decomposed at all."""
    reasoning_enabled: bool = True
    """Whether complex queries are reasoned about before they are searched."""
    reasoning_cache_ttl_s: Seconds = 3600.0
    """How long the outcome of reasoning is used again."""
    search_threshold: UnitInterval = 0.7
    """Only results scoring at least this, in a search that names no threshold."""
    recall_weights: RecallWeights = RecallWeights()
    """What counts how much in a recall."""
    fusion_weights: FusionWeights = FusionWeights()
    """What counts how much where a search asks for fixed weights."""
    token_budget: TokenBudget = 2000
    """The most tokens of a context whose request names no budget."""
    latency_budget_ms: LatencyBudget = 30_000.0
    """How long a complex search may take before it answers with what it has."""
    global_prior: bool = True
    """Whether learning starts from what was learned for all tenants."""
    reply_topics: ReplyTopics = ()
    """The topics that answers may be sent to by reply-to; a * at the end stands for any more."""


_SERVICE: Final = InForce()


class TenantOverrides(Record):
    """A tenant's own values; None is the service's, as InForce says it and what it means."""

    routing_threshold: UnitInterval | None = None
    """From which complexity on queries are decomposed."""
    rlm_enabled: bool | None = None
    """Whether queries are decomposed."""
    reasoning_enabled: bool | None = None
    """Whether complex queries are reasoned about."""
    reasoning_cache_ttl_s: Seconds | None = None
    """How long the outcome of reasoning is used again."""
    search_threshold: UnitInterval | None = None
    """The least score of a search that names none."""
    recall_weights: RecallWeights | None = None
    """What counts how much in a recall."""
    fusion_weights: FusionWeights | None = None
    """What counts how much in weighted fusion."""
    token_budget: TokenBudget | None = None
    """The most tokens of a context whose request names no budget."""
    latency_budget_ms: LatencyBudget | None = None
    """How long a search may take."""
    global_prior: bool | None = None
    """Whether learning starts from what was learned for all tenants."""
    reply_topics: ReplyTopics | None = None
    """The topics that answers may be sent to."""

    def in_force(self, service: InForce = _SERVICE) -> InForce:
        """Return the tenant's values, and the service's where it has none."""
        # Its values were checked when they came in, so they are not checked again.
        return service.model_copy(update=self.own())

    def own(self) -> dict[str, object]:
        """Return the values that are the tenant's."""
        return {name: value for name, value in self if value is not None}
