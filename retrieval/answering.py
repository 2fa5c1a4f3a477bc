"""Answers requests by the route each is worth, and tells how it did for learning to learn from."""

import time
from collections.abc import Callable

import structlog
from pydantic import JsonValue

from models import ErrorInfo, SearchRequest, SearchResult
from models.tenants import TenantOverrides
from retrieval.answered import Answered
from retrieval.choosing import Chooser, Policy
from retrieval.decomposition import Decomposition, NothingFoundError, Task
from retrieval.fusion import Scored
from retrieval.metrics import (
    COMPLEXITY,
    EXECUTION_DEPTH,
    EXECUTION_MS,
    EXECUTION_TOKENS,
    FALLBACKS,
    ROUTES,
)
from retrieval.plan import plan
from retrieval.ranking import Evidence
from retrieval.recipes import Recipe, choose_recipe
from retrieval.routing import Router, Routing
from retrieval.search import Search, result, shortlist, visible
from retrieval.swapping import swapped
from retrieval.trajectory import Recorder, seed_of
from storage import Filter
from storage.protocol import FADED_CONFIDENCE
from topics.traces import span

log = structlog.get_logger(__name__)


class Answering:
    """Routes a request, and carries it out on its route."""

    def __init__(
        self,
        search: Search,
        router: Router,
        decomposition: Decomposition,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.search = search
        self._router = router
        self._decomposition = decomposition
        self._monotonic = monotonic

    async def route(self, request: SearchRequest) -> Routing:
        """Return the route of a request.

        Only the learned order can be decomposed: who asks for a mode or a fusion of their own gets
        exactly that.
        """
        own = await self.search.tenants.of(request.tenant_id)
        in_force = await self.search.tenants.in_force(request.tenant_id)
        chooser = await self._chooser(request)
        possible = self._is_ranked(request, own)
        return self._router.route(request.query, in_force, chooser, possible=possible)

    async def answer(
        self, request: SearchRequest, routing: Routing, spent_s: float = 0.0
    ) -> Answered:
        """Carry out a request; of its time budget so much is spent already."""
        with span("search", {"memstream.route": routing.route}) as one:
            answered = await self._answer(request, routing, spent_s)
            one.set({"memstream.results": len(answered.shown)})
            return answered

    async def _answer(self, request: SearchRequest, routing: Routing, spent_s: float) -> Answered:
        chooser = await self._chooser(request)
        recorder = Recorder(self.search.clock, self._monotonic)
        started_at, began = self.search.clock(), self._monotonic() - spent_s
        with recorder.step("Route", routing.params(), propensity=routing.propensity):
            ROUTES.labels(routing.route).inc()
            COMPLEXITY.observe(routing.score)
        fallback, degraded = routing.fallback, routing.fallback is not None
        if routing.route == "rlm":
            shown, fallback, degraded = await self._decompose(request, chooser, recorder, began)
        else:
            shown = await self._standard(request, chooser, recorder)
        # Who asks for a mode or a fusion of their own gets exactly that order.
        own = await self.search.tenants.of(request.tenant_id)
        is_open = request.operation == "search" and self._is_ranked(request, own)
        shown, placed = swapped(shown, chooser) if is_open else (shown, None)
        answer = result(request, shown, self.search.clock(), degraded=degraded)
        version = chooser.policy.version
        return Answered(
            request, routing, answer, shown, recorder, started_at, version, fallback, placed
        )

    def failed(self, request: SearchRequest, routing: Routing) -> Answered:
        """Return what is known of a search that could not be carried out."""
        recorder = Recorder(self.search.clock, self._monotonic)
        with recorder.step("Route", routing.params(), propensity=routing.propensity):
            at = self.search.clock()
        nothing = SearchResult.failure(
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            session_id=request.session_id,
            error=ErrorInfo(code="internal", message="the search failed"),
            completed_at=at,
        )
        return Answered(request, routing, nothing, (), recorder, at, Policy().version)

    async def _chooser(self, request: SearchRequest) -> Chooser:
        """Return what makes a request's choices: the same however often it is delivered."""
        policy = await self.search.policies.of(request.tenant_id)
        return Chooser(policy, seed_of(request.tenant_id, request.request_id))

    def _is_ranked(self, request: SearchRequest, own: TenantOverrides) -> bool:
        if request.operation == "get":
            return False
        return plan(request, own, self.search.finder.has_embedder).is_ranked

    async def _standard(
        self, request: SearchRequest, chooser: Chooser, recorder: Recorder
    ) -> list[Scored]:
        own = await self.search.tenants.of(request.tenant_id)
        recipe = Recipe(chooser.policy.weights)
        if self._is_ranked(request, own):
            recipe, choices = choose_recipe(chooser, request.query)
            for chosen in choices:
                recorder.chose(chosen)
        params: dict[str, JsonValue] = {"query": request.query, "layer": None}
        kind = "Get" if request.operation == "get" else "SearchLayer"
        with recorder.step(kind, params) as step:
            shown = await self.search.standard(request, recipe)
            step.result_count = len(shown)
        return shown

    async def _decompose(
        self, request: SearchRequest, chooser: Chooser, recorder: Recorder, began: float
    ) -> tuple[list[Scored], str | None, bool]:
        at = self.search.clock()
        own = await self.search.tenants.of(request.tenant_id)
        planned = plan(request, own, self.search.finder.has_embedder)
        in_force = await self.search.tenants.in_force(request.tenant_id)
        deadline = began + in_force.latency_budget_ms / 1000
        task = Task(request, in_force, planned, at, deadline, chooser)
        started = self._monotonic()
        try:
            findings = await self._decomposition.run(task, recorder)
        except NothingFoundError as failure:
            _fell_back(str(failure))
            return await self._standard(request, chooser, recorder), str(failure), True
        finally:
            EXECUTION_MS.observe(1000 * (self._monotonic() - started))
            EXECUTION_DEPTH.observe(recorder.max_depth)
            EXECUTION_TOKENS.observe(recorder.tokens)
        if findings.fallback is not None:
            _fell_back(findings.fallback)
        shown = shortlist(request, own, planned, findings.scored, at)
        among = visible(request, planned.layers, FADED_CONFIDENCE, at)
        shown = await self._compared_with_query(request.tenant_id, shown, findings.first, among)
        return shown, findings.fallback, findings.is_degraded

    async def _compared_with_query(
        self, tenant_id: str, shown: list[Scored], first: Evidence, among: Filter
    ) -> list[Scored]:
        """Return the same, each with its cosine to the query, whatever it was found by."""
        known = {hit.memory_id for hit in first.hits}
        others = [one.hit.memory_id for one in shown if one.hit.memory_id not in known]
        if not others or first.embedding is None:
            return shown
        told = await self.search.finder.similarities(tenant_id, others, first.embedding, among)
        return [
            one
            if one.hit.memory_id in known
            else one._replace(hit=one.hit._replace(similarity=told.get(one.hit.memory_id)))
            for one in shown
        ]


def _fell_back(reason: str) -> None:
    FALLBACKS.labels(reason).inc()
    log.warning("decomposition fell back", reason=reason)
