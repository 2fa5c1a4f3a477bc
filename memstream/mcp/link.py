"""The way from the tools to the service, which may come and go while they are offered."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from cachetools import LRUCache
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from memstream_client import BrokerError, MemstreamClient, MemstreamError

from memstream.calling import told
from memstream.embedded.process import PartError
from memstream.settings import SettingsError

REMEMBERED_REQUESTS: Final = 10_000
"""Of so many searches it is known in which session they were made: feedback goes there."""

SESSION_HEADER: Final = "mcp-session-id"


class Link:
    """One client for all calls, opened with the first, and anew after the broker was away."""

    def __init__(self, connect: Callable[[], MemstreamClient], session: str | None) -> None:
        """Take what finds the service; with a session, all who call are in it."""
        self._connect = connect
        self._session = session
        self._client: MemstreamClient | None = None
        self._opening = asyncio.Lock()
        self._sessions: LRUCache[str, str] = LRUCache(REMEMBERED_REQUESTS)

    @asynccontextmanager
    async def calling(
        self, context: Context, about: str | None = None
    ) -> AsyncIterator[MemstreamClient]:
        """Lend the client in the caller's session, or in that of the request it is about.

        Whatever goes wrong becomes the tool's error, in words that an agent can pass on.
        """
        client = None
        try:
            client = await self._opened()
            session = self._sessions.get(about or "") or self._session_of(context)
            yield client.bind(session=session, traceparent=_traceparent(context))
        except BrokerError as error:
            # The service may come back elsewhere: the next call looks for it again.
            await self._drop(client)
            raise ToolError(str(told(error))) from error
        except (MemstreamError, PartError, SettingsError) as error:
            raise ToolError(str(error)) from error

    def remember_session(self, request_id: str, session: str) -> None:
        """Keep in which session a request was made."""
        self._sessions[request_id] = session

    async def close(self) -> None:
        """Close the client, if one is open."""
        await self._drop(self._client)

    async def _opened(self) -> MemstreamClient:
        async with self._opening:
            if self._client is None:
                self._client = await self._connect().__aenter__()
            return self._client

    async def _drop(self, client: MemstreamClient | None) -> None:
        if client is not None and client is self._client:
            self._client = None
            await client.__aexit__()

    def _session_of(self, context: Context) -> str:
        """Return the caller's session; who has none is in a new one with each call.

        In the newer protocol calls over HTTP have no session. Were they all in one, a question of
        one agent would look like the rewording of another's.
        """
        if self._session is not None:
            return self._session
        named = (context.headers or {}).get(SESSION_HEADER)
        return f"mcp-{named or uuid.uuid4()}"


def _traceparent(context: Context) -> str | None:
    meta = context.request_context.meta or {}
    found = meta.get("traceparent")
    return found if isinstance(found, str) else None
