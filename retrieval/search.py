"""Answers search requests from the store."""

from collections.abc import Callable, Sequence
from datetime import datetime

from models import ScoredMemory, SearchRequest, SearchResult
from retrieval.embedding import Embedder
from storage import Embedding, Hit, Store

RANK_OFFSET = 60
"""The k of reciprocal rank fusion; the learned order is scored on the same scale."""


class CannotSearchError(Exception):
    """What was asked for is not something this deployment can do; the message says what is."""


class Search:
    """Searches a tenant's memories by meaning."""

    def __init__(
        self, store: Store, embedder: Embedder | None, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock

    async def answer(self, request: SearchRequest) -> SearchResult:
        """Return what the tenant's memories say to the request, best first."""
        hits = await self._store.nearest(
            request.tenant_id,
            await self._embed(request),
            limit=request.limit,
            layers=request.layers,
            scope=request.scope,
        )
        return SearchResult(
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            session_id=request.session_id,
            status="ok",
            results=tuple(_at_least(request.threshold, _scored(request, hits))),
            degraded=False,
            error=None,
            completed_at=self._clock(),
        )

    async def _embed(self, request: SearchRequest) -> Embedding:
        _check_supported(request)
        if self._embedder is None:
            raise CannotSearchError("there is no embedder (MEMSTREAM_EMBEDDER is none)")
        vectors = await self._embedder.embed([request.query])
        return Embedding(self._embedder.name, vectors[0])


def _check_supported(request: SearchRequest) -> None:
    """Refuse what is not built yet rather than answer something else than was asked for."""
    if request.operation != "search":
        raise CannotSearchError(f"operation {request.operation} is not part of this version yet")
    if request.mode == "keyword" or request.fusion != "auto":
        raise CannotSearchError("keyword search and fusion are not part of this version yet")
    for name in ("filters", "min_score", "min_confidence", "strategy"):
        if getattr(request, name) is not None:
            raise CannotSearchError(f"{name} is not part of this version yet")


def _scored(request: SearchRequest, hits: Sequence[Hit]) -> list[ScoredMemory]:
    by_rank = request.mode == "hybrid"
    return [
        ScoredMemory(
            memory_id=hit.memory_id,
            layer=hit.layer,
            scope=hit.scope,
            kind=hit.kind,
            content=hit.content,
            score=(RANK_OFFSET + 1) / (RANK_OFFSET + rank) if by_rank else max(0, hit.similarity),
            similarity=hit.similarity,
            created_at=hit.created_at,
            metadata=hit.metadata,
        )
        for rank, hit in enumerate(hits, start=1)
    ]


def _at_least(threshold: float | None, results: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    return [result for result in results if result.score >= (threshold or 0)]
