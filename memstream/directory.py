"""Knows which topics a broker has, without asking it each time."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, LeaderNotAvailableError, NoError
from cachetools import TTLCache

from memstream.broker import Broker

FRESH_S: Final = 10.0
"""How long an answer is believed: one who has just created a topic waits no longer than this."""

MAX_TOPICS: Final = 10_000

_THERE: Final = (NoError.errno, LeaderNotAvailableError.errno)


class TopicDirectory:
    """Looks topics up. A producer would wait twenty minutes for one that does not exist."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: TTLCache[str, bool] = TTLCache(MAX_TOPICS, FRESH_S)
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._admin: Any = None

    async def exists(self, topic: str) -> bool:
        """Tell whether there is such a topic; while nobody can say, suppose so."""
        if topic not in self._known:
            try:
                (found,) = await (await self._client()).describe_topics([topic])
            except KafkaError:
                return True
            self._known[topic] = found["error_code"] in _THERE
        return self._known.get(topic, True)

    async def close(self) -> None:
        """Disconnect."""
        await self._stack.aclose()

    async def _client(self) -> Any:
        """Connect when it is first needed: most deployments never ask."""
        async with self._opening:
            if self._admin is None:
                admin = AIOKafkaAdminClient(**self._broker.options())
                try:
                    await admin.start()
                except KafkaError:
                    await admin.close()
                    raise
                self._stack.push_async_callback(admin.close)
                self._admin = admin
        return self._admin
