"""Lets through what a message's token allows; what it does not is told to the audit log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from agents.delivery import Delivery
from agents.metrics import REFUSALS
from models import ContextRequest, Item, SearchRequest, Signal
from topics import Headers, RefusedError
from topics.auth import Claims, Tokens, allow_item, allow_request, allow_signal

log = structlog.get_logger(__name__)

E = TypeVar("E", Item, Signal)
Q = TypeVar("Q", SearchRequest, ContextRequest)


class Guard:
    """Stands before the agents; without tokens (AUTH=off) it trusts what a message says."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self._tokens = tokens

    def admit_request(self, delivery: Delivery, request: Q, headers: Headers) -> Q:
        """Return the request, narrowed to what its token allows; raise RefusedError if nothing."""
        if self._tokens is None:
            return request
        with audited(delivery, request.tenant_id, request.request_id) as sender:
            claims = self._tokens.claims(headers)
            sender["who"] = claims.sub
            allowed = allow_request(claims, request)
        if claims.tenant != request.tenant_id:
            log.info(
                "cross-tenant read",
                who=claims.sub,
                **{"from": claims.tenant, "to": request.tenant_id},
                request_id=request.request_id,
            )
        return allowed

    def sender(self, headers: Headers) -> str | None:
        """Return who sent a message, if its token says so and holds."""
        try:
            return None if self._tokens is None else self._tokens.claims(headers).sub
        except RefusedError:
            return None

    def vouches_for(self, headers: Headers, tenant_id: str) -> bool:
        """Tell whether a message that cannot be read was certainly sent by that tenant."""
        if self._tokens is None:
            return True
        try:
            return self._tokens.claims(headers).tenant == tenant_id
        except RefusedError:
            return False

    def admit_item(self, delivery: Delivery, item: Item, headers: Headers) -> None:
        """Raise RefusedError unless the item's token allows to write it."""
        self._admit_event(delivery, item, headers, allow_item)

    def admit_signal(self, delivery: Delivery, signal: Signal, headers: Headers) -> None:
        """Raise RefusedError unless the signal's token allows to send it."""
        self._admit_event(delivery, signal, headers, allow_signal)

    def _admit_event(
        self, delivery: Delivery, event: E, headers: Headers, allow: Callable[[Claims, E], None]
    ) -> None:
        if self._tokens is None:
            return
        with audited(delivery, event.tenant_id, event.event_id) as sender:
            # What waited through an outage was allowed if it was when the broker took it.
            claims = self._tokens.claims(headers, delivery.at if delivery.by_broker else None)
            sender["who"] = claims.sub
            allow(claims, event)


@contextmanager
def audited(delivery: Delivery, tenant_id: str, own_id: str) -> Iterator[dict[str, str | None]]:
    """Count and log a refusal; who it was is known only once the token was found to be good."""
    sender: dict[str, str | None] = {}
    try:
        yield sender
    except RefusedError as refused:
        REFUSALS.labels(code=refused.code).inc()
        log.warning(
            "refused",
            code=refused.code,
            reason=refused.message,
            who=sender.get("who"),
            tenant_id=tenant_id,
            id=own_id,
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
        )
        raise
