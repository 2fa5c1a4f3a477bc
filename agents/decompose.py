"""Requests to take apart → answered, however long each takes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.delivery import Delivery
from agents.desk import Outgoing
from agents.handling import handling
from agents.metrics import MESSAGES
from agents.service import Service
from topics.handover import HandoverError, handover


class SlowLane:
    """Serves what the fast lane handed over, with the same desks and by the same rules."""

    def __init__(self, services: Mapping[str, Service[Any]], outgoing: Outgoing) -> None:
        self._services = services
        self._outgoing = outgoing

    async def __call__(self, delivery: Delivery) -> None:
        """Serve one request; time it spent waiting is part of its budget."""
        try:
            handed_over = handover(delivery.headers)
            service = self._services[handed_over.origin]
        except (HandoverError, KeyError) as error:
            await self._outgoing.dead_letters.keep(
                delivery, "invalid_request", f"handover: {error}"
            )
            MESSAGES.labels(topic=delivery.topic).inc()
            return
        delivery = replace(delivery, at=handed_over.written_at)
        with handling(delivery) as headers:
            request = await service.desk.read(delivery, headers)
            if request is not None:
                routing = await service.routed(delivery, headers, request)
                if routing is not None:
                    spent = self._outgoing.clock() - handed_over.at
                    spent_s = max(spent.total_seconds(), 0.0)
                    await service.serve(delivery, headers, request, routing, spent_s)
        MESSAGES.labels(topic=delivery.topic).inc()
