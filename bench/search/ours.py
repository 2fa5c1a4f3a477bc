"""memstream's own search and ingest, called as its agents call them."""

import uuid
from collections.abc import Sequence
from typing import Literal

from bench.progress import Advance
from bench.search.vectors import Precomputed
from memstream.clock import now
from models import Item, SearchRequest
from retrieval.embedding.protocol import Vectors
from retrieval.ingest import Ingest
from retrieval.search import Search
from storage import Store

LIMIT = 10
CHUNK = 1_000


Mode = Literal["hybrid", "semantic", "keyword"]


def request(tenant_id: str, query: str, mode: Mode) -> SearchRequest:
    """Return a search of a tenant."""
    return SearchRequest(
        request_id=str(uuid.uuid4()),
        tenant_id=tenant_id,
        session_id="bench",
        query=query,
        mode=mode,
        limit=LIMIT,
    )


class Memstream:
    """A store with a search on top of it."""

    def __init__(self, store: Store, vectors: Precomputed, mode: Mode = "hybrid") -> None:
        self._store, self._vectors, self._mode = store, vectors, mode
        self._search = Search(store, vectors, now)

    async def load(self, items: Sequence[Item], what: str, advance: Advance) -> None:
        """Store the items with their vectors."""
        ingest, at = Ingest(self._store, self._vectors), now()
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            await ingest.store([(item, at) for item in chunk])
            advance(what, start + len(chunk), len(items))

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Return the ids of what is found; the vector is looked up by the query's text."""
        result = await self._search.answer(request(tenant_id, query, self._mode))
        return [found.memory_id for found in result.results]

    async def close(self) -> None:
        """Give back the store."""
        await self._store.close()
