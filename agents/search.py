"""search.requests and context.requests → answered at once, or handed over to the slow lane."""

import asyncio
from collections.abc import Sequence
from typing import Generic

from agents.delivery import Delivery, TooLargeError
from agents.desk import Outgoing, Q
from agents.handling import handling, sending
from agents.metrics import MESSAGES, SEARCH_SECONDS
from agents.service import Service
from agents.wildcards import count_wildcards
from topics import Headers, Topic
from topics.handover import Handover, handover_headers


class FastLane(Generic[Q]):
    """Answers what is answered quickly; what must be taken apart goes on to another topic.

    With one reader a partition, a slow request would hold up every request behind it.
    """

    def __init__(self, service: Service[Q], outgoing: Outgoing) -> None:
        self._service = service
        self._outgoing = outgoing
        self._slow = outgoing.names.name(Topic.DECOMPOSITIONS)

    async def __call__(self, batch: Sequence[Delivery]) -> None:
        """Answer a batch, all at once; each answer goes out as soon as it is there."""
        with SEARCH_SECONDS.time():
            await asyncio.gather(*(self._handle(delivery) for delivery in batch))

    async def _handle(self, delivery: Delivery) -> None:
        with handling(delivery) as headers:
            request = await self._service.desk.read(delivery, headers)
            if request is not None:
                await self._answer_or_hand_over(delivery, headers, request)
        MESSAGES.labels(topic=delivery.topic).inc()

    async def _answer_or_hand_over(self, delivery: Delivery, headers: Headers, request: Q) -> None:
        count_wildcards(request)
        routing = await self._service.routed(delivery, headers, request)
        if routing is not None and routing.route == "rlm":
            handed_over = await self._hand_over(delivery, headers)
            routing = None if handed_over else routing.standard("too_large")
        if routing is not None:
            await self._service.serve(delivery, headers, request, routing)

    async def _hand_over(self, delivery: Delivery, headers: Headers) -> bool:
        """Pass a request on as it came; return whether the broker took it."""
        at = self._outgoing.clock()
        try:
            with sending(self._slow, headers) as carried:
                await self._outgoing.publisher.publish(
                    self._slow,
                    key=delivery.key,
                    value=delivery.value,
                    headers=handover_headers(
                        carried.original, Handover(delivery.topic, at, delivery.at)
                    ),
                )
        except TooLargeError:
            return False
        return True
