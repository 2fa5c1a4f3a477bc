"""Standard search: one look at the store, ranked."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from models import InForce, ScoredMemory, SearchRequest, SearchResult
from models.memories import LAYER_PRECEDENCE
from models.tenants import TenantOverrides
from retrieval.embedding import Embedder
from retrieval.finding import Finder, Wanted
from retrieval.fusion import (
    Scored,
    by_meaning,
    by_place,
    by_ranks,
    by_recipe,
    by_weights,
    by_words,
    faded,
)
from retrieval.plan import Plan, plan
from retrieval.policies import Policies
from retrieval.recall import composite
from retrieval.recipes import Recipe
from retrieval.tenants import TenantSettings
from storage import Asked, Filter, Store, words
from storage.protocol import FADED_CONFIDENCE


class Search:
    """Finds a tenant's memories by meaning, by words, by both, or by id."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        service: InForce | None = None,
        policies: Policies | None = None,
    ) -> None:
        self._store = store
        self.finder = Finder(store, embedder)
        self.clock = clock
        self.tenants = TenantSettings(store, monotonic, service)
        self.policies = policies or Policies(None, monotonic)

    async def answer(self, request: SearchRequest) -> SearchResult:
        """Return what the tenant's memories say to the request."""
        policy = await self.policies.of(request.tenant_id)
        return result(request, await self.standard(request, Recipe(policy.weights)), self.clock())

    async def count_references(self, returned: SearchResult) -> None:
        """Count that the memories of a result were returned, once however often it is answered."""
        ids = [found.memory_id for found in returned.results]
        await self.refer(returned.tenant_id, returned.request_id, ids, returned.completed_at)

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that memories were returned, once a request."""
        if memory_ids:
            await self._store.refer(tenant_id, request_id, memory_ids, at)

    async def standard(self, request: SearchRequest, recipe: Recipe) -> list[Scored]:
        """Return the best for a request, found in one go, by the recipe if it asks for no other."""
        at = self.clock()
        if request.operation == "get":
            return await self._get(request, at)
        own = await self.tenants.of(request.tenant_id)
        planned = plan(request, own, self.finder.has_embedder)
        scored = await self._scored(request, planned, recipe, own, at)
        return shortlist(request, own, planned, scored, at)

    async def _scored(
        self,
        request: SearchRequest,
        planned: Plan,
        recipe: Recipe,
        own: TenantOverrides,
        at: datetime,
    ) -> list[Scored]:
        best = max(int(planned.best * recipe.size), request.limit)
        wanted = Wanted(
            meaning=request.query,
            words=Asked(()) if planned.mode == "semantic" else words.asked(request.query),
            among=visible(request, planned.layers, FADED_CONFIDENCE, at),
            best=best if planned.is_ranked else planned.best,
            around=planned.around,
            by_meaning=planned.mode != "keyword",
        )
        [evidence] = await self.finder.find(request.tenant_id, [wanted])
        weights = own.in_force().fusion_weights
        if planned.is_ranked and recipe.order != "ranker":
            # Scored by place, as the learned order is: a score tells nobody what was tried.
            tried = (
                by_ranks(evidence, request.limit)
                if recipe.order == "rrf"
                else by_weights(evidence, weights, self.finder.has_embedder)
            )
            return by_place(faded(tried, at))
        if planned.is_ranked:
            # A recall may prefer any of them; of a search only the first are ever shown.
            limit = request.limit if request.operation == "search" else None
            return by_recipe(evidence, request.query, best, recipe.weights, at, limit)
        if planned.mode == "semantic":
            return faded(by_meaning(evidence), at)
        if planned.mode == "keyword":
            return faded(by_words(evidence), at)
        if planned.fusion == "rrf":
            return faded(by_ranks(evidence, request.limit), at)
        return faded(by_weights(evidence, weights, self.finder.has_embedder), at)

    async def _get(self, request: SearchRequest, at: datetime) -> list[Scored]:
        # Whoever asks for a memory by its id wants it however faded it is.
        among = visible(request, request.layers, 0.0, at)
        hits = await self._store.get(request.tenant_id, request.memory_ids or (), among)
        return [Scored(hit, 1.0) for hit in hits]


def shortlist(
    request: SearchRequest,
    own: TenantOverrides,
    planned: Plan,
    scored: Sequence[Scored],
    at: datetime,
) -> list[Scored]:
    """Return what is shown of everything scored, in the order in which it is."""
    if request.operation == "recall":
        scored = composite(scored, own.in_force().recall_weights.of(request.scope), at)
    best = [one for one in scored if one.score >= planned.least][: request.limit]
    if request.operation == "search":
        # What is in is decided by relevance; what comes first, by how specific its layer is.
        best.sort(key=lambda one: LAYER_PRECEDENCE.index(one.hit.layer))
    return best


def visible(
    request: SearchRequest, layers: Sequence[str] | None, min_confidence: float, at: datetime
) -> Filter:
    """Return which memories a request may find at all."""
    asked = request.min_confidence
    return Filter(
        at=at,
        layers=layers,
        scope=request.scope,
        min_confidence=min_confidence if asked is None else asked,
        metadata=request.filters,
    )


def result(
    request: SearchRequest, shown: Sequence[Scored], at: datetime, *, degraded: bool = False
) -> SearchResult:
    """Return the answer to a request, of the same shape wherever its memories came from."""
    return SearchResult(
        request_id=request.request_id,
        tenant_id=request.tenant_id,
        session_id=request.session_id,
        status="ok",
        results=tuple(_memory(one) for one in shown),
        degraded=degraded,
        error=None,
        completed_at=at,
    )


def _memory(one: Scored) -> ScoredMemory:
    hit = one.hit
    return ScoredMemory(
        memory_id=hit.memory_id,
        layer=hit.layer,
        scope=hit.scope,
        kind=hit.kind,
        content=hit.content,
        score=one.score,
        similarity=hit.similarity,
        created_at=hit.created_at,
        metadata=hit.metadata,
    )
