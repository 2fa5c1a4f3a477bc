"""Takes requests in and hands answers out: every request gets one, a result or an error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery, Publisher, TooLargeError
from models import ContextAssembled, ContextRequest, ErrorInfo, SearchRequest, SearchResult
from models.errors import ErrorCode
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

Q = TypeVar("Q", bound=SearchRequest | ContextRequest)
Answer = SearchResult | ContextAssembled

Admit = Callable[[Delivery, Q, Headers], Q]
"""Returns the request within what its token allows, or raises RefusedError."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What every agent that answers needs to do so."""

    publisher: Publisher
    names: TopicNames
    dead_letters: DeadLetters
    clock: Clock


class Desk(Generic[Q]):
    """Where requests of one kind come in, and their answers go out."""

    def __init__(
        self,
        asked: type[Q],
        answers: type[Answer],
        admit: Admit[Q],
        topic: Topic,
        outgoing: Outgoing,
    ) -> None:
        self._asked = asked
        self._answers = answers
        self._admit = admit
        self._topic = outgoing.names.name(topic)
        self._outgoing = outgoing

    async def read(self, delivery: Delivery, headers: Headers) -> Q | None:
        """Return the request; refuse one that cannot be read or is not allowed."""
        try:
            request = decode(self._asked, delivery.value, headers)
            check_key(delivery.key, ids_of(request))
        except DecodeError as error:
            await self._refuse(delivery, headers, error, error.ids)
            return None
        try:
            return self._admit(delivery, request, headers)
        except RefusedError as error:
            await self._refuse(delivery, headers, error, ids_of(request))
            return None

    def error(self, ids: SalvagedIds, code: ErrorCode, message: str) -> Answer:
        """Return the answer to a request that could not be served."""
        return self._answers.failure(
            request_id=ids.request_id,
            tenant_id=ids.tenant_id,
            session_id=ids.session_id,
            error=ErrorInfo(code=code, message=message),
            completed_at=self._outgoing.clock(),
        )

    async def reply(self, answer: Answer, headers: Headers) -> None:
        """Publish an answer; one that is too large is answered with what to do."""
        try:
            await self._publish(answer, headers)
        except TooLargeError:
            ids = SalvagedIds(answer.request_id, answer.tenant_id, answer.session_id)
            message = "the results are larger than the broker takes; ask for fewer with limit"
            await self._publish(self.error(ids, "too_large", message), headers)

    async def _refuse(
        self,
        delivery: Delivery,
        headers: Headers,
        error: DecodeError | RefusedError,
        ids: SalvagedIds,
    ) -> None:
        await self._outgoing.dead_letters.keep(delivery, error.code, error.message)
        # With neither an id nor a correlation id nobody could tell what this answers.
        if ids.request_id or headers.correlation_id is not None:
            await self._publish(self.error(ids, error.code, error.message), headers)

    async def _publish(self, answer: Answer, headers: Headers) -> None:
        await self._outgoing.publisher.publish(
            self._topic,
            key=event_key(answer.tenant_id, answer.session_id),
            value=encode(answer),
            headers=headers.answer(),
        )


def ids_of(request: SearchRequest | ContextRequest) -> SalvagedIds:
    """Return the ids that an answer carries."""
    return SalvagedIds(request.request_id, request.tenant_id, request.session_id)
