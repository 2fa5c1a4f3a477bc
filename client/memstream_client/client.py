"""The client: a tenant's memories, asked for and written through Kafka."""

import copy
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar, Unpack

from memstream_client.answers import Answer, ContextAssembled, SearchResult
from memstream_client.broker import Broker
from memstream_client.caller import Caller, Token
from memstream_client.connection import Connection
from memstream_client.errors import request_error
from memstream_client.events import (
    ContextUsage,
    Feedback,
    Item,
    MemoryOptions,
    QueryRefinement,
    SessionAbandonment,
    Signal,
    SignalOptions,
)
from memstream_client.messages import DEFAULT_PREFIX, TOPICS, message, read
from memstream_client.records import called
from memstream_client.requests import (
    ContextOptions,
    ContextRequest,
    GetOptions,
    SearchOptions,
    SearchRequest,
)
from memstream_client.security import Security

KAFKA_SCHEME: Final = "kafka://"

A = TypeVar("A", bound=Answer)


class MemstreamClient:
    """Asks, writes and tells in the name of one tenant and session, for as long as it is open."""

    def __init__(
        self,
        broker: str,
        *,
        tenant: str,
        session: str | None = None,
        token: Token = None,
        topic_prefix: str = DEFAULT_PREFIX,
        security: Security | None = None,
        reply_to: str | None = None,
        traceparent: str | None = None,
        timeout: float = 30.0,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Take the broker (``host:port[,host:port…]``) and whose memories are meant.

        Without a session the client is one of its own. ``reply_to`` is a topic of yours that the
        tenant may have answers sent to; without it they are read where everybody's are.
        """
        own = f"client-{new_id()}" if session is None else session
        self._caller = Caller(tenant, own, token, traceparent)
        self._prefix = topic_prefix
        self._reply_to = reply_to
        self._timeout = timeout
        self._new_id = new_id
        self._clock = clock
        usual = [topic_prefix + TOPICS[kind] for kind in (SearchResult, ContextAssembled)]
        # Who may not have answers sent elsewhere is told where everybody is.
        answers = usual if reply_to is None else [*usual, reply_to]
        at = Broker(broker.removeprefix(KAFKA_SCHEME), security or Security())
        self._connection = Connection(at, answers)

    async def __aenter__(self) -> Self:
        await self._connection.open(self._timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    @property
    def session(self) -> str:
        """The session in whose name it asks."""
        return self._caller.session

    def bind(
        self,
        *,
        tenant: str | None = None,
        session: str | None = None,
        token: Token = None,
        traceparent: str | None = None,
    ) -> Self:
        """Return the same open client in another name; what is left out stays as it is."""
        given = {"tenant": tenant, "session": session, "token": token, "traceparent": traceparent}
        named: Any = {name: value for name, value in given.items() if value is not None}
        bound = copy.copy(self)
        bound._caller = replace(self._caller, **named)  # noqa: SLF001 - a copy of ourselves
        return bound

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
        """Return the memories that fit best, those of more specific layers first."""
        return await self._ask_search("search", {"query": query, **options})

    async def recall(self, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
        """Return memories by relevance, importance, recency and confidence."""
        return await self._ask_search("recall", {"query": query, **options})

    async def get(self, memory_ids: Sequence[str], **options: Unpack[GetOptions]) -> SearchResult:
        """Return memories by their ids; ids that the tenant does not have are left out."""
        return await self._ask_search("get", {"memory_ids": memory_ids, **options})

    async def context(
        self, query: str, token_budget: int = 2000, **options: Unpack[ContextOptions]
    ) -> ContextAssembled:
        """Return the memories that help with a query, packed into a token budget."""
        asked = {"query": query, "token_budget": token_budget, **options}
        return await self._ask(ContextRequest, ContextAssembled, asked)

    async def remember(self, text: str, **options: Unpack[MemoryOptions]) -> str:
        """Publish a memory and return its id; it can be found a moment later.

        With the id of another memory it replaces that one.
        """
        said: dict[str, Any] = {"memory_id": self._new_id(), "created_at": self._clock(), **options}
        item = self._item(content=text, **said)
        await self._send(item)
        return item.memory_id

    async def forget(self, memory_id: str, *, session_id: str | None = None) -> None:
        """Delete a memory; one of a conversation or document is named with that."""
        await self._send(self._item(op="delete", memory_id=memory_id, session_id=session_id))

    async def remember_all(self, items: Iterable[Item]) -> AsyncIterator[int]:
        """Publish many memories, of any tenant, yielding how many the broker has taken so far."""
        headers = self._caller.headers()
        messages = (message(item, self._prefix, headers) for item in items)
        async for taken in self._connection.send_all(messages, self._timeout):
            yield taken

    async def use(
        self,
        request_id: str,
        memory_ids: Sequence[str],
        quality_score: float = 1.0,
        **options: Unpack[SignalOptions],
    ) -> None:
        """Tell that memories of a result were used, and how much they helped (0 to 1)."""
        told = {"memory_ids": memory_ids, "quality_score": quality_score, **options}
        await self._tell(ContextUsage, request_id=request_id, **told)

    async def feedback(
        self,
        request_id: str,
        quality_score: float,
        memory_id: str | None = None,
        **options: Unpack[SignalOptions],
    ) -> None:
        """Tell how good a result was (0 to 1), or one memory of it."""
        told = {"quality_score": quality_score, "memory_id": memory_id, **options}
        await self._tell(Feedback, request_id=request_id, **told)

    async def refine(
        self,
        request_id: str,
        new_query: str,
        new_request_id: str | None = None,
        **options: Unpack[SignalOptions],
    ) -> None:
        """Tell that a query was reworded, so its result was not quite what was wanted."""
        told = {"new_query": new_query, "new_request_id": new_request_id, **options}
        await self._tell(QueryRefinement, request_id=request_id, **told)

    async def abandon(
        self, request_id: str | None = None, **options: Unpack[SignalOptions]
    ) -> None:
        """Tell that a search, or every open one of the session, came to nothing."""
        await self._tell(SessionAbandonment, request_id=request_id, **options)

    def _item(self, **fields: Any) -> Item:
        return called(
            Item, {"event_id": self._new_id(), "tenant_id": self._caller.tenant, **fields}
        )

    async def _tell(self, signal: type[Signal], **fields: Any) -> None:
        now = {"event_id": self._new_id(), "occurred_at": self._clock()}
        await self._send(called(signal, {**now, **fields, **self._caller.ids()}))

    async def _send(self, record: Item | Signal) -> None:
        sent = message(record, self._prefix, self._caller.headers())
        await self._connection.send(sent, self._timeout)

    async def _ask_search(self, operation: str, fields: dict[str, Any]) -> SearchResult:
        asked = {"requested_at": self._clock(), "operation": operation, **fields}
        return await self._ask(SearchRequest, SearchResult, asked)

    async def _ask(
        self,
        request: type[SearchRequest | ContextRequest],
        answers: type[A],
        fields: dict[str, Any],
    ) -> A:
        fields = {"request_id": self._new_id(), **fields, **self._caller.ids()}
        patience = fields.pop("timeout", self._timeout)
        asked = called(request, fields)
        headers = [*self._caller.headers(), ("correlation-id", asked.request_id.encode())]
        if self._reply_to is not None:
            headers.append(("reply-to", self._reply_to.encode()))
        sent = message(asked, self._prefix, headers)
        answer = read(answers, await self._connection.ask(asked.request_id, sent, patience))
        if answer.error is not None:
            raise request_error(answer)
        return answer
