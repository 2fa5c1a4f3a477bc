"""Answers search requests from the store."""

from collections.abc import Callable, Sequence
from datetime import datetime

from models import ScoredMemory, SearchRequest, SearchResult
from models.memories import LAYER_PRECEDENCE
from retrieval.dated import freshness
from retrieval.embedding import Embedder
from storage import Embedding, Filter, Hit, Store
from storage.protocol import FADED_CONFIDENCE

RANK_OFFSET = 60
"""The k of reciprocal rank fusion; the learned order is scored on the same scale."""

POOL = 50
"""How many memories are looked at beyond those asked for: one that is nearest but belongs to an old
dated file makes room for the next."""


class CannotSearchError(Exception):
    """What was asked for is not something this deployment can do; the message says what is."""


class Search:
    """Finds a tenant's memories by meaning or by id."""

    def __init__(
        self, store: Store, embedder: Embedder | None, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock

    async def answer(self, request: SearchRequest) -> SearchResult:
        """Return what the tenant's memories say to the request."""
        _check_supported(request)
        found = await (self._get(request) if request.operation == "get" else self._search(request))
        return SearchResult(
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            session_id=request.session_id,
            status="ok",
            results=tuple(found),
            degraded=False,
            error=None,
            completed_at=self._clock(),
        )

    async def count_references(self, result: SearchResult) -> None:
        """Count that the memories of a result were returned, once however often it is answered."""
        if result.results:
            await self._store.refer(
                result.tenant_id,
                result.request_id,
                [found.memory_id for found in result.results],
                result.completed_at,
            )

    async def _search(self, request: SearchRequest) -> list[ScoredMemory]:
        query = await self._embed(request.query)
        among = self._filter(request, FADED_CONFIDENCE)
        hits = await self._store.nearest(request.tenant_id, query, among, request.limit + POOL)
        ranked = _ranked(hits, among.at)
        scored = [
            _scored(hit, relevance if request.mode == "semantic" else _by_rank(rank))
            for rank, (hit, relevance) in enumerate(ranked, start=1)
        ]
        least = max(request.threshold or 0, request.min_score or 0)
        best = [found for found in scored if found.score >= least][: request.limit]
        # What is in is decided by relevance; what comes first, by how specific its layer is.
        return sorted(best, key=lambda found: LAYER_PRECEDENCE.index(found.layer))

    async def _get(self, request: SearchRequest) -> list[ScoredMemory]:
        # Whoever asks for a memory by its id wants it however faded it is.
        among = self._filter(request, 0.0)
        hits = await self._store.get(request.tenant_id, request.memory_ids or (), among)
        return [_scored(hit, 1.0) for hit in hits]

    def _filter(self, request: SearchRequest, min_confidence: float) -> Filter:
        asked = request.min_confidence
        return Filter(
            at=self._clock(),
            layers=request.layers,
            scope=request.scope,
            min_confidence=min_confidence if asked is None else asked,
            metadata=request.filters,
        )

    async def _embed(self, query: str) -> Embedding:
        if self._embedder is None:
            raise CannotSearchError("there is no embedder (MEMSTREAM_EMBEDDER is none)")
        vectors = await self._embedder.embed([query])
        return Embedding(self._embedder.name, vectors[0])


def _check_supported(request: SearchRequest) -> None:
    """Refuse what is not built yet rather than answer something else than was asked for."""
    if request.operation == "recall":
        raise CannotSearchError("operation recall is not part of this version yet")
    if request.mode == "keyword" or request.fusion != "auto":
        raise CannotSearchError("keyword search and fusion are not part of this version yet")
    if request.strategy is not None:
        raise CannotSearchError("strategy is not part of this version yet")


def _ranked(hits: Sequence[Hit], at: datetime) -> list[tuple[Hit, float]]:
    """Order hits by relevance, ties newest first and then by id."""
    relevant = [(hit, max(hit.similarity or 0, 0) * freshness(hit.source_path, at)) for hit in hits]
    relevant.sort(key=lambda pair: pair[0].memory_id)
    relevant.sort(key=lambda pair: (pair[1], pair[0].created_at), reverse=True)
    return relevant


def _by_rank(rank: int) -> float:
    return (RANK_OFFSET + 1) / (RANK_OFFSET + rank)


def _scored(hit: Hit, score: float) -> ScoredMemory:
    return ScoredMemory(
        memory_id=hit.memory_id,
        layer=hit.layer,
        scope=hit.scope,
        kind=hit.kind,
        content=hit.content,
        score=score,
        similarity=hit.similarity,
        created_at=hit.created_at,
        metadata=hit.metadata,
    )
