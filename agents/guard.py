"""Lets through what a message's token allows; what it does not is told to the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from agents.delivery import Delivery
from agents.metrics import REFUSALS
from models import Item, SearchRequest
from topics import Headers, RefusedError
from topics.auth import Tokens, allow_item, allow_request

log = structlog.get_logger(__name__)


class Guard:
    """Stands before the agents; without tokens (AUTH=off) it trusts what a message says."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self._tokens = tokens

    def admit_request(
        self, delivery: Delivery, request: SearchRequest, headers: Headers
    ) -> SearchRequest:
        """Return the request, narrowed to what its token allows; raise RefusedError if nothing."""
        if self._tokens is None:
            return request
        with _audited(delivery, request.tenant_id, request.request_id) as sender:
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

    def admit_item(self, delivery: Delivery, item: Item, headers: Headers) -> None:
        """Raise RefusedError unless the item's token allows to write it."""
        if self._tokens is None:
            return
        with _audited(delivery, item.tenant_id, item.event_id) as sender:
            claims = self._tokens.claims(headers)
            sender["who"] = claims.sub
            allow_item(claims, item)


@contextmanager
def _audited(delivery: Delivery, tenant_id: str, own_id: str) -> Iterator[dict[str, str]]:
    """Count and log a refusal; who it was is known only once the token was found to be good."""
    sender: dict[str, str] = {}
    try:
        yield sender
    except RefusedError as refused:
        REFUSALS.labels(code=refused.code).inc()
        log.warning(
            "refused",
            code=refused.code,
            reason=refused.message,
            who=sender.get("who"),
            tenant=tenant_id,
            id=own_id,
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
        )
        raise
