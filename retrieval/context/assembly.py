"""Assembles contexts: searches as any search would, and packs what it finds."""

from dataclasses import dataclass
from typing import Final

from models import ContextAssembled, ContextRequest, ContextUsage, SearchRequest
from retrieval.answered import Answered
from retrieval.answering import Answering
from retrieval.context.packing import pack
from retrieval.routing import Routing
from retrieval.trajectory import trajectory_id

TOKENS_PER_MEMORY: Final = 8
"""Memories are rarely shorter; so many more results are of no use."""
LEAST_RESULTS: Final = 10
MOST_RESULTS: Final = 100


@dataclass(frozen=True, slots=True)
class Assembled:
    """A context, and how its memories were found."""

    answer: ContextAssembled
    searched: Answered
    usage: ContextUsage | None
    """What is told of its use; None if it is empty."""


class Assembly:
    """Answers requests for contexts."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    async def route(self, request: ContextRequest) -> Routing:
        """Return the route of the search that a context needs."""
        return await self._answering.route(_search(request))

    async def assemble(
        self, request: ContextRequest, routing: Routing, spent_s: float = 0.0
    ) -> Assembled:
        """Return the memories that help with a query, packed into its budget."""
        searched = await self._answering.answer(_search(request), routing, spent_s)
        own = await self._answering.search.tenants.in_force(request.tenant_id)
        best = sorted(searched.shown, key=lambda one: -one.score)
        asked = "token_budget" in request.model_fields_set
        budget = request.token_budget if asked else own.token_budget
        packed = pack(request.query, [one.hit for one in best], budget)
        answer = ContextAssembled(
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            session_id=request.session_id,
            status="ok",
            context=packed.text,
            memory_ids=packed.memory_ids,
            tokens=packed.tokens,
            degraded=searched.result.degraded,
            error=None,
            completed_at=self._answering.search.clock(),
        )
        return Assembled(answer, searched, _usage(answer))


def _search(request: ContextRequest) -> SearchRequest:
    limit = max(LEAST_RESULTS, min(request.token_budget // TOKENS_PER_MEMORY, MOST_RESULTS))
    return SearchRequest(
        request_id=request.request_id,
        tenant_id=request.tenant_id,
        session_id=request.session_id,
        query=request.query,
        layers=request.layers,
        scope=request.scope,
        limit=limit,
        # The budget decides what is left out, not how far down a memory ranks.
        threshold=0.0,
    )


def _usage(answer: ContextAssembled) -> ContextUsage | None:
    if not answer.memory_ids:
        return None
    return ContextUsage(
        # The same however often the request is delivered: it counts once.
        event_id=f"context/{trajectory_id(answer.tenant_id, answer.request_id)}",
        tenant_id=answer.tenant_id,
        session_id=answer.session_id,
        request_id=answer.request_id,
        memory_ids=answer.memory_ids,
        occurred_at=answer.completed_at,
    )
