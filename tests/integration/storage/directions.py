"""Memories whose vectors are directions in the plane, and what is nearest to a direction."""

from datetime import UTC, datetime

import numpy as np

from models import Item
from storage import Asked, Change, Embedding, Filter, Sought

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MODEL = "test-model"


def direction(*components: float) -> Embedding:
    vector = np.array(components, np.float32)
    return Embedding(MODEL, vector / np.linalg.norm(vector))


def change(memory_id, embedding=None, *, at=NOON, event_id=None, **fields) -> Change:
    given = {
        "event_id": event_id or f"event-of-{memory_id}",
        "tenant_id": "acme",
        "memory_id": memory_id,
        "content": f"content of {memory_id}",
    } | fields
    return Change(Item.model_validate(given), at, embedding)


async def nearest(store, query, tenant="acme", limit=10, at=NOON, **filters):
    sought = Sought(Asked(()), query, best=limit)
    brought = await store.find(tenant, sought, Filter(at=at, **filters))
    return sorted(
        brought.hits, key=lambda hit: (-hit.similarity, -hit.created_at.timestamp(), hit.memory_id)
    )


async def found(store, query, **options):
    return [hit.memory_id for hit in await nearest(store, query, **options)]
