"""What a store does, whichever database is behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from models import Item
from models.memories import Kind, Layer

Vector = npt.NDArray[np.float32]

SIMILARITY_DIGITS = 6
"""Similarities are compared to this many digits.

Databases add up single-precision products in different orders, which moves the seventh digit;
without rounding, equal memories would not tie and the stores would disagree on their order.
"""


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
class Hit:
    """A memory that was found, with its plain cosine to the query."""

    memory_id: str
    layer: Layer
    scope: str
    kind: Kind
    content: str
    created_at: datetime
    metadata: dict[str, Any]
    similarity: float


class Store(Protocol):
    """Memories of many tenants, each of whom sees only its own."""

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction; an event that came before is skipped."""

    async def nearest(
        self,
        tenant_id: str,
        query: Embedding,
        *,
        limit: int,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
    ) -> list[Hit]:
        """Return the tenant's memories nearest to the query, best first, ties newest first."""

    async def ping(self) -> None:
        """Return if the database answers; raise StoreUnavailableError if it does not."""

    async def close(self) -> None:
        """Give back connections and threads."""


def last_of_each_memory(changes: Sequence[Change]) -> list[Change]:
    """Return the last change of each memory, ordered so that concurrent writers cannot deadlock."""
    last = {(change.item.tenant_id, change.item.memory_id): change for change in changes}
    return [last[key] for key in sorted(last)]
