"""What a store does, whichever database is behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import JsonValue

from models import Item, TenantOverrides
from models.memories import Kind, Layer

Vector = npt.NDArray[np.float32]

SIMILARITY_DIGITS = 6
"""Similarities are compared to this many digits.

Databases add up single-precision products in different orders, which moves the seventh digit;
without rounding, equal memories would not tie and the stores would disagree on their order.
"""

FADED_CONFIDENCE = 0.2
"""Memories whose confidence has faded below this are not found unless asked for."""

MAX_FADING = 700.0
"""The largest exponent by which confidence fades: e^-700 is as good as 0, and still a number."""


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


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found, with its plain cosine to the query if there was one."""

    memory_id: str
    layer: Layer
    scope: str
    kind: Kind
    content: str
    source_path: str | None
    created_at: datetime
    metadata: dict[str, Any]
    similarity: float | None


class Store(Protocol):
    """Memories of many tenants, each of whom sees only its own."""

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction; an event that came before is skipped."""

    async def nearest(
        self, tenant_id: str, query: Embedding, among: Filter, limit: int
    ) -> list[Hit]:
        """Return the tenant's memories nearest to the query, best first, ties newest first."""

    async def get(self, tenant_id: str, memory_ids: Sequence[str], among: Filter) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for."""

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""

    async def references(
        self, tenant_id: str, memory_ids: Sequence[str]
    ) -> dict[str, tuple[int, datetime | None]]:
        """Return how often, and when last, each memory was returned."""

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
