"""search.requests → searched → search.results."""

import asyncio
from collections.abc import Sequence

import structlog

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery, Publisher, TooLargeError
from agents.guard import Guard
from agents.metrics import MESSAGES, NOT_FOUND, SEARCH_SECONDS
from agents.patience import PASSING, until_available
from models import ErrorInfo, SearchRequest, SearchResult
from models.errors import ErrorCode
from retrieval.search import Search
from topics import (
    DecodeError,
    Headers,
    RefusedError,
    SalvagedIds,
    Topic,
    TopicNames,
    check_key,
    decode,
    encode,
    event_key,
)

log = structlog.get_logger(__name__)

PATIENCE_S = 10.0
"""How long a search waits for a part that is away; then its caller is told, and can ask again."""


class SearchAgent:
    """Answers search requests: each gets exactly one kind of answer, a result or an error."""

    def __init__(
        self,
        search: Search,
        publisher: Publisher,
        dead_letters: DeadLetters,
        names: TopicNames,
        clock: Clock,
        guard: Guard | None = None,
    ) -> None:
        self._search = search
        self._publisher = publisher
        self._dead_letters = dead_letters
        self._results = names.name(Topic.SEARCH_RESULTS)
        self._clock = clock
        self._guard = guard or Guard()

    async def __call__(self, batch: Sequence[Delivery]) -> None:
        """Answer a batch, all at once; each answer goes out as soon as it is there."""
        with SEARCH_SECONDS.time():
            await asyncio.gather(*(self._handle(delivery) for delivery in batch))

    async def _handle(self, delivery: Delivery) -> None:
        headers = Headers.parse(delivery.headers)
        try:
            request = decode(SearchRequest, delivery.value, headers)
            check_key(delivery.key, _ids(request))
        except DecodeError as error:
            await self._refuse(delivery, headers, error, error.ids)
        else:
            await self._handle_read(delivery, headers, request)
        MESSAGES.labels(topic=delivery.topic).inc()

    async def _handle_read(
        self, delivery: Delivery, headers: Headers, asked: SearchRequest
    ) -> None:
        try:
            request = self._guard.admit_request(delivery, asked, headers)
        except RefusedError as error:
            await self._refuse(delivery, headers, error, _ids(asked))
        else:
            result = await self._answer(delivery, request)
            await self._publish_or_explain(result, headers)
            await until_available(delivery.topic, lambda: self._search.count_references(result))
            if request.operation == "get" and result.status == "ok":
                NOT_FOUND.inc(len(set(request.memory_ids or ())) - len(result.results))

    async def _answer(self, delivery: Delivery, request: SearchRequest) -> SearchResult:
        ids = _ids(request)
        try:
            return await until_available(
                delivery.topic,
                lambda: self._search.answer(request),
                give_up_after_s=PATIENCE_S,
            )
        except PASSING as error:
            return self._error(ids, "unavailable", str(error))
        except Exception as error:
            log.exception("search failed", request_id=request.request_id)
            await self._dead_letters.keep(delivery, "internal", repr(error))
            return self._error(ids, "internal", "the search failed; it was kept for inspection")

    async def _refuse(
        self,
        delivery: Delivery,
        headers: Headers,
        error: DecodeError | RefusedError,
        ids: SalvagedIds,
    ) -> None:
        await self._dead_letters.keep(delivery, error.code, error.message)
        # With neither an id nor a correlation id nobody could tell what this answers.
        if ids.request_id or headers.correlation_id is not None:
            await self._publish(self._error(ids, error.code, error.message), headers)

    def _error(self, ids: SalvagedIds, code: ErrorCode, message: str) -> SearchResult:
        return SearchResult.failure(
            request_id=ids.request_id,
            tenant_id=ids.tenant_id,
            session_id=ids.session_id,
            error=ErrorInfo(code=code, message=message),
            completed_at=self._clock(),
        )

    async def _publish_or_explain(self, result: SearchResult, headers: Headers) -> None:
        try:
            await self._publish(result, headers)
        except TooLargeError:
            ids = SalvagedIds(result.request_id, result.tenant_id, result.session_id)
            message = "the results are larger than the broker takes; ask for fewer with limit"
            await self._publish(self._error(ids, "too_large", message), headers)

    async def _publish(self, result: SearchResult, headers: Headers) -> None:
        await self._publisher.publish(
            self._results,
            key=event_key(result.tenant_id, result.session_id),
            value=encode(result),
            headers=headers.answer(),
        )


def _ids(request: SearchRequest) -> SalvagedIds:
    return SalvagedIds(request.request_id, request.tenant_id, request.session_id)
