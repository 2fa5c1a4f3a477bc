"""Answers search requests from the store."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from models import ScoredMemory, SearchRequest, SearchResult
from models.memories import LAYER_PRECEDENCE
from models.tenants import TenantOverrides
from retrieval.embedding import Embedder
from retrieval.fusion import Scored, by_meaning, by_ranks, by_recipe, by_weights, by_words, faded
from retrieval.plan import Plan, plan
from retrieval.ranking import PRIOR, Evidence
from retrieval.recall import composite
from retrieval.tenants import TenantSettings
from storage import Asked, Embedding, Filter, Hit, Sought, Store, words
from storage.protocol import FADED_CONFIDENCE


class Search:
    """Finds a tenant's memories by meaning, by words, by both, or by id."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        weights: Mapping[str, float] = PRIOR,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._tenants = TenantSettings(store, monotonic)
        self._weights = weights

    async def answer(self, request: SearchRequest) -> SearchResult:
        """Return what the tenant's memories say to the request."""
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
        own = await self._tenants.of(request.tenant_id)
        planned = plan(request, own, self._embedder is not None)
        at = self._clock()
        scored = await self._scored(request, planned, own, at)
        if request.operation == "recall":
            weights = own.in_force().recall_weights.of(request.scope)
            scored = composite(scored, weights, at)
        best = [one for one in scored if one.score >= planned.least][: request.limit]
        if request.operation == "search":
            # What is in is decided by relevance; what comes first, by how specific its layer is.
            best.sort(key=lambda one: LAYER_PRECEDENCE.index(one.hit.layer))
        return [_result(one.hit, one.score) for one in best]

    async def _scored(
        self, request: SearchRequest, planned: Plan, own: TenantOverrides, at: datetime
    ) -> list[Scored]:
        sought = Sought(
            asked=Asked(()) if planned.mode == "semantic" else words.asked(request.query),
            embedding=await self._embed(request.query),
            best=planned.best,
            around=planned.around,
            by_meaning=planned.mode != "keyword",
        )
        among = _filter(request, planned.layers, FADED_CONFIDENCE, at)
        evidence = Evidence(await self._store.find(request.tenant_id, sought, among))
        if planned.is_ranked:
            # A recall may prefer any of them; of a search only the first are ever shown.
            limit = request.limit if request.operation == "search" else None
            return by_recipe(evidence, request.query, planned.best, self._weights, at, limit)
        if planned.mode == "semantic":
            return faded(by_meaning(evidence), at)
        if planned.mode == "keyword":
            return faded(by_words(evidence), at)
        if planned.fusion == "rrf":
            return faded(by_ranks(evidence, request.limit), at)
        weights = own.in_force().fusion_weights
        return faded(by_weights(evidence, weights, self._embedder is not None), at)

    async def _get(self, request: SearchRequest) -> list[ScoredMemory]:
        # Whoever asks for a memory by its id wants it however faded it is.
        among = _filter(request, request.layers, 0.0, self._clock())
        hits = await self._store.get(request.tenant_id, request.memory_ids or (), among)
        return [_result(hit, 1.0) for hit in hits]

    async def _embed(self, query: str) -> Embedding | None:
        if self._embedder is None:
            return None
        vectors = await self._embedder.embed([query])
        return Embedding(self._embedder.name, vectors[0])


def _filter(
    request: SearchRequest, layers: Sequence[str] | None, min_confidence: float, at: datetime
) -> Filter:
    asked = request.min_confidence
    return Filter(
        at=at,
        layers=layers,
        scope=request.scope,
        min_confidence=min_confidence if asked is None else asked,
        metadata=request.filters,
    )


def _result(hit: Hit, score: float) -> ScoredMemory:
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
