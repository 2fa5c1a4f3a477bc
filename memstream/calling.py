"""Talks to a running memstream as any other service would: with its client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from memstream_client import BrokerError, MemstreamClient, MemstreamError

from memstream.broker import broker_of, refused_by_broker
from memstream.clock import now
from memstream.embedded.process import PartError
from memstream.settings import Settings

TIMEOUT_S: Final = 30.0


def client_of(
    settings: Settings, tenant: str, session: str | None = None, timeout_s: float = TIMEOUT_S
) -> MemstreamClient:
    """Return a client of the configured service, still to be opened."""
    broker = broker_of(settings)
    return MemstreamClient(
        broker.address,
        tenant=tenant,
        session=session,
        token=settings.token.get_secret_value() if settings.token else None,
        topic_prefix=settings.topic_prefix,
        security=broker.security,
        timeout=timeout_s,
        clock=now,
    )


@asynccontextmanager
async def calling(
    settings: Settings, tenant: str, session: str | None = None
) -> AsyncIterator[MemstreamClient]:
    """Open a client for as long as the context lasts; what goes wrong is told in our words."""
    try:
        async with client_of(settings, tenant, session) as client:
            yield client
    except MemstreamError as error:
        raise told(error) from error


def told(error: MemstreamError) -> PartError:
    """Return what to say of a client's failure: our settings are what there is to check."""
    if isinstance(error, BrokerError) and error.refusal is not None:
        return refused_by_broker(error.refusal)
    return PartError(str(error))
