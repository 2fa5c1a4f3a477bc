"""Takes requests in and hands answers out: every request gets one, a result or an error."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Generic, TypeVar

from agents.dead_letters import DeadLetters
from agents.delivery import Clock, Delivery, Publisher, TooLargeError, UnwritableError
from agents.handling import about, sending
from agents.metrics import ANSWERS
from agents.patience import PASSING, until_available
from agents.replies import ReplyTopics
from models import ContextAssembled, ContextRequest, ErrorInfo, SearchRequest, SearchResult
from models.errors import ErrorCode
from storage.joins import REMEMBERED
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

PATIENCE_S: Final = 10.0
"""How long a request waits for a part that is away; then its caller is told, and can ask again."""

REPLY_PATIENCE_S: Final = 10.0
"""How long an answer may take to a topic that is not ours."""

_ASK_FOR_LESS: Final = "ask for fewer results with limit, or for less with token_budget"

Admit = Callable[[Delivery, Q, Headers], Q]
"""Returns the request within what its token allows, or raises RefusedError."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What every agent that answers needs to do so."""

    publisher: Publisher
    names: TopicNames
    dead_letters: DeadLetters
    reply_topics: ReplyTopics
    clock: Clock
    remembered: timedelta = REMEMBERED
    """So long it is known which requests were answered."""


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
        self._usual = outgoing.names.name(topic)
        self._outgoing = outgoing

    async def read(self, delivery: Delivery, headers: Headers) -> Q | None:
        """Return the request; refuse one that cannot be read or is not allowed."""
        try:
            request = decode(self._asked, delivery.value, headers)
            check_key(delivery.key, ids_of(request))
        except DecodeError as error:
            about(error.ids)
            await self._refuse(delivery, headers, error, error.ids)
            return None
        ids = ids_of(request)
        about(ids)
        try:
            admitted = self._admit(delivery, request, headers)
            await until_available(
                delivery.topic,
                lambda: self._outgoing.reply_topics.check(delivery, headers, ids, self._usual),
                give_up_after_s=PATIENCE_S,
            )
        except (RefusedError, DecodeError) as error:
            # Who may not have it there, or anything at all, is told where everybody is.
            await self._refuse(delivery, replace(headers, reply_to=None), error, ids)
            return None
        except PASSING as error:
            answer = self.error(ids, "unavailable", str(error))
            await self._publish(self._usual, answer, headers)
            return None
        if delivery.at < self._outgoing.clock() - self._outgoing.remembered:
            await self._refuse_for_age(delivery, headers, ids)
            return None
        return admitted

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
        """Publish an answer to a request that was read; one that is too large tells what to do."""
        topic = headers.reply_to or self._usual
        ids = SalvagedIds(answer.request_id, answer.tenant_id, answer.session_id)
        try:
            try:
                await self._publish(topic, answer, headers)
            except TooLargeError:
                message = f"the answer is larger than the broker takes; {_ASK_FOR_LESS}"
                await self._publish(topic, self.error(ids, "too_large", message), headers)
        except UnwritableError:
            if topic == self._usual:
                raise
            message = "reply-to: the broker does not let memstream write to that topic"
            await self._publish(self._usual, self.error(ids, "forbidden", message), headers)

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
            topic = await self._topic_of_broken(headers, ids)
            answer = self.error(ids, error.code, error.message)
            await self.reply(answer, replace(headers, reply_to=topic))

    async def _refuse_for_age(self, delivery: Delivery, headers: Headers, ids: SalvagedIds) -> None:
        """Refuse what may have been answered, counted and joined: that is no longer known."""
        days = self._outgoing.remembered / timedelta(days=1)
        message = f"it was written over {days:g} days ago; ask again under another request_id"
        await self._outgoing.dead_letters.keep(delivery, "late", message)
        await self.reply(self.error(ids, "unavailable", message), headers)

    async def _topic_of_broken(self, headers: Headers, ids: SalvagedIds) -> str:
        try:
            return await self._outgoing.reply_topics.of_broken(headers, ids, self._usual)
        except PASSING:
            return self._usual

    async def _publish(self, topic: str, answer: Answer, headers: Headers) -> None:
        message = {
            "key": event_key(answer.tenant_id, answer.session_id),
            "value": encode(answer),
        }
        # Others' topics come and go; one that is gone must not hold up who asks next.
        patience_s = None if topic == self._usual else REPLY_PATIENCE_S
        with sending(topic, headers) as carried:
            try:
                async with asyncio.timeout(patience_s):
                    await self._outgoing.publisher.publish(
                        topic, **message, headers=carried.answer()
                    )
            except TimeoutError:
                if patience_s is None:
                    raise
                raise UnwritableError(topic) from None
        code = "ok" if answer.error is None else answer.error.code
        ANSWERS.labels(topic=self._usual, code=code).inc()


def ids_of(request: SearchRequest | ContextRequest) -> SalvagedIds:
    """Return the ids that an answer carries."""
    return SalvagedIds(request.request_id, request.tenant_id, request.session_id)
