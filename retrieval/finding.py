"""Looks for several things at once: their texts are embedded together, then each is found."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.embedding import Embedder
from retrieval.ranking import Evidence
from storage import Asked, Embedding, Filter, Sought, Store


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to look for."""

    meaning: str
    words: Asked
    among: Filter
    best: int
    around: int = 0
    by_meaning: bool = True


class Finder:
    """Finds what a tenant's memories have to say to texts."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder

    @property
    def has_embedder(self) -> bool:
        """Whether anything can be found by meaning."""
        return self._embedder is not None

    async def find(self, tenant_id: str, wanted: Sequence[Wanted]) -> list[Evidence]:
        """Return what was found for each."""
        embeddings = await self._embed([one.meaning for one in wanted])
        found = await asyncio.gather(
            *(
                self._store.find(tenant_id, _sought(one, embedding), one.among)
                for one, embedding in zip(wanted, embeddings, strict=True)
            )
        )
        return [Evidence(*one) for one in zip(found, embeddings, strict=True)]

    async def similarities(
        self, tenant_id: str, memory_ids: Sequence[str], embedding: Embedding, among: Filter
    ) -> dict[str, float | None]:
        """Return how near memories are that were found by asking something else."""
        hits = await self._store.get(tenant_id, memory_ids, among, embedding=embedding)
        return {hit.memory_id: hit.similarity for hit in hits}

    async def _embed(self, texts: Sequence[str]) -> Sequence[Embedding | None]:
        if self._embedder is None:
            return [None] * len(texts)
        name = self._embedder.name
        return [Embedding(name, vector) for vector in await self._embedder.embed(texts)]


def _sought(wanted: Wanted, embedding: Embedding | None) -> Sought:
    return Sought(
        asked=wanted.words,
        embedding=embedding,
        best=wanted.best,
        around=wanted.around,
        by_meaning=wanted.by_meaning,
    )
