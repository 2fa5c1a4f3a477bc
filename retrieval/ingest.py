"""Turns items into memories that can be found."""

from collections.abc import Sequence
from datetime import datetime

from models import Item
from retrieval.embedding import Embedder
from storage import Change, Embedding, Store


class Ingest:
    """Embeds and stores items."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder

    async def store(self, received: Sequence[tuple[Item, datetime]]) -> None:
        """Store items in the order they were received, with one call of the model for all."""
        embeddings = await self._embed([item for item, _ in received])
        await self._store.apply(
            [
                Change(item, received_at, embedding)
                for (item, received_at), embedding in zip(received, embeddings, strict=True)
            ]
        )

    async def _embed(self, items: Sequence[Item]) -> list[Embedding | None]:
        if self._embedder is None:
            return [None] * len(items)
        contents = [item.content for item in items if item.op == "upsert"]
        vectors = iter(await self._embedder.embed([content or "" for content in contents]))
        name = self._embedder.name
        return [Embedding(name, next(vectors)) if item.op == "upsert" else None for item in items]
