"""Memories for tests of search, with vectors whose cosines tie or clearly differ."""

import hashlib
from datetime import UTC, datetime

import numpy as np

from models import Item, SearchRequest
from retrieval.search import Search
from storage import Change, Embedding

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MODEL = "grid"
HALF = 0.5
VECTORS = (
    *((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
    *((HALF, HALF, HALF, HALF), (HALF, -HALF, HALF, -HALF), (-HALF, -HALF, HALF, HALF)),
    *((0.6, 0.8, 0.0, 0.0), (0.8, 0.0, 0.0, 0.6), (0.0, 0.6, -0.8, 0.0)),
)
"""Unit vectors whose products are nowhere near the middle between two numbers of six digits."""


def vector(*components):
    return np.array(components, np.float32)


def embedding(components, model=MODEL):
    return Embedding(model, vector(*components))


def change(memory_id, content="text", *, to=None, event_id=None, at=NOON, tenant="acme", **fields):
    """Return the writing of a memory; ``to`` is the vector of its content."""
    given = {
        "event_id": event_id or f"event-of-{memory_id}",
        "tenant_id": tenant,
        "memory_id": memory_id,
        "content": content,
    } | fields
    meant = to if to is None or isinstance(to, Embedding) else embedding(to)
    return Change(Item.model_validate(given), at, meant)


def deletion(memory_id, event_id, tenant="acme"):
    return change(memory_id, None, event_id=event_id, op="delete", tenant=tenant)


class GridEmbedder:
    """Embeds a text as one of the vectors, or as the one it was told."""

    name = MODEL
    dimensions = 4

    def __init__(self, known=None):
        self.known = known or {}

    def vector_of(self, text):
        chosen = hashlib.sha256(text.encode()).digest()[0] % len(VECTORS)
        return self.known.get(text, VECTORS[chosen])

    async def embed(self, texts):
        return np.array([self.vector_of(text) for text in texts], np.float32)

    async def close(self):
        return None


class Clock:
    """A clock for what a search reads at most once a second: it always has."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 2.0
        return self.now


def searching(store, embedder=None, at=NOON):
    """Return a search that reads overrides anew each time."""
    return Search(store, embedder, lambda: at, Clock())


async def answer(store, query="", embedder=None, at=NOON, **fields):
    """Return the results of one request."""
    given = {"request_id": "r", "tenant_id": "acme", "session_id": "s", "query": query} | fields
    request = SearchRequest.model_validate(given)
    return (await searching(store, embedder, at).answer(request)).results


async def ids(store, query="", embedder=None, **fields):
    return [found.memory_id for found in await answer(store, query, embedder, **fields)]
