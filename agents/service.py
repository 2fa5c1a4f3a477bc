"""Serves requests: answers them, and then tells what counting and learning need to know."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from agents.delivery import Delivery, TooLargeError
from agents.desk import PATIENCE_S, Desk, Outgoing, Q, ids_of
from agents.guard import Guard
from agents.handling import sending
from agents.metrics import NOT_FOUND, TOO_LARGE
from agents.patience import PASSING, until_available
from models import ContextRequest, Record, SearchRequest
from retrieval.answering import Answering
from retrieval.context import Assembly
from retrieval.routing import Routing
from topics import Header, Headers, Topic, encode, event_key

log = structlog.get_logger(__name__)

T = TypeVar("T")


class Service(ABC, Generic[Q]):
    """Serves requests of one kind."""

    def __init__(
        self,
        desk: Desk[Q],
        answering: Answering,
        outgoing: Outgoing,
    ) -> None:
        self.desk = desk
        self._answering = answering
        self._outgoing = outgoing

    @abstractmethod
    async def route(self, request: Q) -> Routing:
        """Return the route that a request is worth."""

    @abstractmethod
    async def serve(
        self,
        delivery: Delivery,
        headers: Headers,
        request: Q,
        routing: Routing,
        spent_s: float = 0.0,
    ) -> None:
        """Answer a request whatever happens, and tell how; so much of its time is spent."""

    async def routed(self, delivery: Delivery, headers: Headers, request: Q) -> Routing | None:
        """Return the route of a request; if it cannot be found out, its caller is told."""
        return await self._or_explain(delivery, headers, request, lambda: self.route(request))

    async def _or_explain(
        self, delivery: Delivery, headers: Headers, request: Q, work: Callable[[], Awaitable[T]]
    ) -> T | None:
        """Do it, waiting a while for a part that is away; if it fails, answer with the error."""
        try:
            return await until_available(delivery.topic, work, give_up_after_s=PATIENCE_S)
        except PASSING as error:
            answer = self.desk.error(ids_of(request), "unavailable", str(error))
        except Exception as error:
            log.exception("request failed")
            await self._outgoing.dead_letters.keep(delivery, "internal", repr(error))
            message = "the search failed; it was kept for inspection"
            answer = self.desk.error(ids_of(request), "internal", message)
        await self.desk.reply(answer, headers)
        return None

    async def _tell(
        self,
        delivery: Delivery,
        topic: Topic,
        record: Record,
        headers: Headers,
        carry: Callable[[Headers], list[Header]] = Headers.trace,
    ) -> None:
        """Publish what came of a request; if that is too large, the request itself is kept."""
        told = record.model_dump(include={"tenant_id", "session_id"})
        name = self._outgoing.names.name(topic)
        try:
            with sending(name, headers) as carried:
                await self._outgoing.publisher.publish(
                    name, key=event_key(**told), value=encode(record), headers=carry(carried)
                )
        except TooLargeError as error:
            TOO_LARGE.labels(topic=name).inc()
            reason = f"it was answered, but what is told of it on {name} is too large: {error}"
            await self._outgoing.dead_letters.keep(delivery, "too_large", reason)


class SearchService(Service[SearchRequest]):
    """Answers searches."""

    async def route(self, request: SearchRequest) -> Routing:
        """Return the route that a search is worth."""
        return await self._answering.route(request)

    async def serve(
        self,
        delivery: Delivery,
        headers: Headers,
        request: SearchRequest,
        routing: Routing,
        spent_s: float = 0.0,
    ) -> None:
        """Answer a search, then count what it returned and tell how it was carried out."""
        answered = await self._or_explain(
            delivery, headers, request, lambda: self._answering.answer(request, routing, spent_s)
        )
        asked_at = request.requested_at or delivery.at
        if answered is None:
            failed = self._answering.failed(request, routing)
            await self._tell(delivery, Topic.DECISIONS, failed.decision(asked_at), headers)
            return
        await self.desk.reply(answered.result, headers)
        search = self._answering.search
        await asyncio.gather(
            until_available(delivery.topic, lambda: search.count_references(answered.result)),
            self._tell(delivery, Topic.DECISIONS, answered.decision(asked_at), headers),
        )
        if request.operation == "get":
            NOT_FOUND.inc(len(set(request.memory_ids or ())) - len(answered.shown))


class ContextService(Service[ContextRequest]):
    """Assembles contexts."""

    def __init__(
        self, desk: Desk[ContextRequest], answering: Answering, outgoing: Outgoing, guard: Guard
    ) -> None:
        super().__init__(desk, answering, outgoing)
        self._assembly = Assembly(answering)
        self._guard = guard

    async def route(self, request: ContextRequest) -> Routing:
        """Return the route of the search that a context needs."""
        return await self._assembly.route(request)

    async def serve(
        self,
        delivery: Delivery,
        headers: Headers,
        request: ContextRequest,
        routing: Routing,
        spent_s: float = 0.0,
    ) -> None:
        """Assemble a context, then count and tell what is in it, and that it was used."""
        assembled = await self._or_explain(
            delivery, headers, request, lambda: self._assembly.assemble(request, routing, spent_s)
        )
        if assembled is None:
            return
        await self.desk.reply(assembled.answer, headers)
        decision = assembled.searched.decision(delivery.at)
        await self._tell(delivery, Topic.DECISIONS, decision, headers)
        if assembled.usage is not None:
            usage = assembled.usage
            search = self._answering.search
            await until_available(
                delivery.topic,
                lambda: search.refer(
                    usage.tenant_id,
                    usage.request_id,
                    usage.memory_ids,
                    assembled.answer.completed_at,
                ),
            )
            # It is told in the name of who asked: with tokens on, theirs is needed. What somebody
            # makes of another tenant's memories is no signal of that tenant.
            if self._guard.vouches_for(headers, usage.tenant_id):
                await self._tell(delivery, Topic.CONTEXT_USAGE, usage, headers, Headers.on_behalf)
