"""Where an answer goes: to the usual topic, or to the one that its request names and may use."""

from collections.abc import Awaitable, Callable
from typing import Final

from agents.delivery import Delivery
from agents.guard import Guard, audited
from retrieval.tenants import TenantSettings
from topics import DecodeError, Headers, RefusedError, SalvagedIds, TopicNames
from topics.replies import may_reply_on

MAX_SHOWN: Final = 100

Exists = Callable[[str], Awaitable[bool]]
"""Tells whether the broker has a topic."""


class ReplyTopics:
    """Decides whether an answer may go to where its request wants it."""

    def __init__(
        self, tenants: TenantSettings, exists: Exists, guard: Guard, names: TopicNames
    ) -> None:
        self._tenants = tenants
        self._exists = exists
        self._guard = guard
        self._names = names

    async def check(
        self, delivery: Delivery, headers: Headers, ids: SalvagedIds, usual: str
    ) -> None:
        """Raise RefusedError unless the tenant whose memories are asked for may use the topic."""
        topic = headers.reply_to
        if topic is None or topic == usual:
            return
        may_use = await self._may_use(ids.tenant_id, topic)
        shown = repr(topic[:MAX_SHOWN])
        with audited(delivery, ids.tenant_id, ids.request_id) as sender:
            sender["who"] = self._guard.sender(headers)
            if not may_use:
                raise RefusedError(
                    "forbidden",
                    f"reply-to: the tenant may not use the topic {shown}; "
                    "it can be allowed with `memstream tenant set TENANT reply_topics=…`",
                )
        if not await self._exists(topic):
            problem = f"reply-to: there is no topic {shown}; create it first"
            raise DecodeError("invalid_request", problem, ids)

    async def of_broken(self, headers: Headers, ids: SalvagedIds, usual: str) -> str:
        """Return where to tell that a request cannot be read, as far as its sender is known."""
        topic = headers.reply_to
        if topic is None or not ids.tenant_id:
            return usual
        if not self._guard.vouches_for(headers, ids.tenant_id):
            return usual
        may_use = await self._may_use(ids.tenant_id, topic)
        return topic if may_use and await self._exists(topic) else usual

    async def _may_use(self, tenant_id: str, topic: str) -> bool:
        """Tell whether a tenant may use a topic; it is refused only by what the store says now.

        Who was just allowed to use it would otherwise be refused for another second, and a
        refused request is not tried again.
        """
        for read in (self._tenants.in_force, self._tenants.in_force_now):
            if may_reply_on(topic, (await read(tenant_id)).reply_topics, self._names):
                return True
        return False
