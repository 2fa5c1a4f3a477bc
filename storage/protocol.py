"""What a store does, whichever database is behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from pydantic import JsonValue

from models import Item, TenantOverrides
from models.memories import Kind, Layer
from storage.counts import Counts, Use
from storage.joins import Joins
from storage.policies import Policies
from storage.words import Asked
from storage.worth import Question

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector: TypeAlias = npt.NDArray[np.float32]
else:  # The embedded store does without numpy where there is none.
    Vector = Any

SIMILARITY_DIGITS = 6
"""Similarities are compared to this many digits.

Databases add up single-precision products in different orders, which moves the seventh digit;
without rounding, equal memories would not tie and the stores would disagree on their order.
"""

FADED_CONFIDENCE = 0.2
"""Memories whose confidence has faded below this are not found unless asked for."""

DAY_S = 86_400

MAX_DECAY = 1e300
"""The largest rate that counts: multiplied by all the days there are, it is still a number."""

MAX_FADING = 700.0
"""The largest exponent by which confidence fades: e^-700 is as good as 0, and still a number."""

PRIOR_EXPOSURES = 3
"""So many looks at a memory count as much as what all of the tenant's memories are worth."""

MAX_RELATED = 1_000
"""At most so many pairs of entities are told at once."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class StoreError(Exception):
    """The store cannot be used as it is; the message says what to do."""


class StoreUnavailableError(StoreError):
    """The database cannot be reached right now; the same call may work later."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A unit vector and the model that made it; only vectors of one model can be compared."""

    model: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Change:
    """One item as it arrived, with the embedding of its content if there is an embedder."""

    item: Item
    received_at: datetime
    embedding: Embedding | None

    @property
    def created_at(self) -> datetime:
        """When the memory came to be: as its writer says, or when it was received."""
        return self.item.created_at or self.received_at


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories count at all; applied before any limit, never after it."""

    at: datetime
    """The moment for which confidence is computed."""
    layers: Sequence[str] | None = None
    """Only these layers."""
    scope: str | None = None
    """Facts and rules that are global or of this scope, and episodes of this scope."""
    min_confidence: float = FADED_CONFIDENCE
    """confidence · exp(−decay_rate · days since last confirmed) must be at least this."""
    metadata: Mapping[str, Any] | None = None
    """Metadata must contain this, as PostgreSQL's jsonb @> understands it."""
    entities: Mapping[str, Sequence[str]] | None = None
    """For each of these keys, the memory's entity must be one of those named."""


class Hit(NamedTuple):
    """A memory that was found, and what ranking needs to know of it."""

    memory_id: str
    layer: Layer
    scope: str
    kind: Kind
    content: str
    source_path: str | None
    created_at: datetime
    metadata: dict[str, Any]
    importance: float
    confidence: float
    """What is left of its confidence at the moment of the search."""
    last_referenced_at: datetime | None
    similarity: float | None = None
    """Its plain cosine to the query, if both have a vector of the same model."""
    length: int = 0
    """How many words it has."""
    title: str = ""
    """The stems before its first colon, with spaces between them."""
    session_id: str | None = None
    counts: Sequence[int] = ()
    """How often it has each of the terms looked for."""
    previous: str | None = None
    """The memory before it in its session, if that is among the hits as well."""
    likeness: float | None = None
    """Its cosine to the memory before it, if both can be compared with the query."""
    value: float | None = None
    """How often it is used when it is looked at, as far as is known: with few looks at it, as often
    as the tenant's memories are in the mean. None while nothing is known of any of these."""
    questions: Sequence[Question] = ()
    """What was asked when it was looked at lately, the newest last."""


class Related(NamedTuple):
    """Two entities that memories are about together, such as an org and one of its teams."""

    parent: str
    child: str
    memories: int
    """How many memories are about both."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What to look for, and how much to bring."""

    asked: Asked
    embedding: Embedding | None
    best: int
    """So many of the nearest, and so many of those that the words fit best."""
    around: int = 0
    """For the first so many of each, also the memories just before and after in their session."""
    by_meaning: bool = True
    """Whether the nearest are brought; if not, the embedding only tells cosines of the others."""


@dataclass(frozen=True, slots=True)
class Found:
    """The memories that may answer a query, in no order, and the counts that weigh their words.

    Where there are no hits there is nothing to weigh, and nothing is counted.
    """

    hits: Sequence[Hit] = ()
    frequencies: Sequence[int] = ()
    """How many of the tenant's memories have each of the terms looked for."""
    memories: int = 0
    """How many memories the tenant has."""
    mean_length: float = 1.0
    """How many words these have on average."""
    mean_rate: float | None = None
    """How often these are used when they are looked at; None while that is not known."""

    @property
    def has_words(self) -> bool:
        """Whether any hit has one of the terms."""
        return any(any(hit.counts) for hit in self.hits)


class Store(Protocol):
    """Memories of many tenants, each of whom sees only its own."""

    @property
    def joins(self) -> Joins:
        """What joins searches with what happened after them."""

    @property
    def policies(self) -> Policies:
        """What was learned for each tenant."""

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction; an event that came before is skipped."""

    async def find(self, tenant_id: str, sought: Sought, among: Filter) -> Found:
        """Return those of the tenant's memories that may answer the query, in one round trip."""

    async def get(
        self,
        tenant_id: str,
        memory_ids: Sequence[str],
        among: Filter,
        *,
        embedding: Embedding | None = None,
    ) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for.

        With an embedding each has the similarity that find would tell, in one round trip.
        """

    async def related(
        self, tenant_id: str, parent: str, child: str, among: Filter
    ) -> Sequence[Related]:
        """Return which entities under one key occur with which under another, in one round trip.

        Those with most memories come first, then by name, MAX_RELATED at most. With the same key
        twice these are the entities under that key, each with itself.
        """

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""

    async def use(self, uses: Sequence[Use]) -> int:
        """Count that memories were used, in one transaction; the same event counts once.

        Return how many of the memories named by new events their tenants do not have: these stay
        without effect, whoever has them.
        """

    async def unknown(self, named: Sequence[tuple[str, str]]) -> int:
        """Return how many of the memories, each named with its tenant, are not there."""

    async def counts(self, tenant_id: str, memory_ids: Sequence[str]) -> dict[str, Counts]:
        """Return how often those of the memories that the tenant has were returned and used."""

    async def overrides(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way."""

    async def override(self, tenant_id: str, changes: Mapping[str, JsonValue]) -> TenantOverrides:
        """Set the keys given, remove those given as None, and return what the tenant then has.

        Concurrent changes of different keys are all kept; for a key or value that is not allowed
        it raises ValidationError and changes nothing.
        """

    async def ping(self) -> None:
        """Return if the database answers; raise StoreUnavailableError if it does not."""

    async def close(self) -> None:
        """Give back connections and threads."""


def last_of_each_memory(changes: Sequence[Change]) -> list[Change]:
    """Return the last change of each memory, ordered so that concurrent writers cannot deadlock."""
    last = {(change.item.tenant_id, change.item.memory_id): change for change in changes}
    return [last[key] for key in sorted(last)]


def place_in_session(change: Change) -> int:
    """Return what orders the memories of a session: positions, or else times."""
    if change.item.position is not None:
        return change.item.position
    return (change.created_at - _EPOCH) // _MICROSECOND
