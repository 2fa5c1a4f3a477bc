"""What operators order: policies promoted and rolled back, dead letters sent again."""

from typing import Annotated, Any, Literal, TypeVar

import structlog
from aiohttp import web
from pydantic import Field

from learning.config import LearningConfig
from memstream.clock import now
from memstream.console.access import Refused
from memstream.console.api import tenant_of
from memstream.console.letters import MOST, send_again
from memstream.console.sources import Sources
from memstream.wiring import build_pupil
from models import Record
from storage.policies import OrderError
from topics import DecodeError, decode

log = structlog.get_logger(__name__)

ACTOR = "console"
"""Whose orders these are in a policy's history: the token says no name."""

R = TypeVar("R", bound=Record)


class Order(Record):
    """What is ordered for a policy."""

    order: Literal["promote", "rollback"]
    """Let what was learned serve, or go back to the version before."""
    why: Annotated[str, Field(min_length=1, max_length=1000)]
    """Why, for its history."""


class Resend(Record):
    """Which dead letters are to be sent again."""

    offsets: Annotated[tuple[int, ...], Field(min_length=1, max_length=MOST, strict=False)]
    """Where they are among the dead letters."""
    token: Annotated[str, Field(pattern=r"^[\x21-\x7e]+$")] | None = None
    """The JWT to send them with: letters are kept without theirs."""


class Orders:
    """Carries out what is ordered."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    async def policy(self, request: web.Request) -> dict[str, Any]:
        """Promote or roll back a tenant's policy."""
        tenant, ordered = tenant_of(request), await _read(Order, request)
        settings = self._sources.settings
        pupil = build_pupil(settings, self._sources.names, LearningConfig())
        try:
            taught = await self._sources.store.policies.control(
                tenant, ordered.order, pupil, now(), actor=ACTOR, why=ordered.why
            )
        except OrderError as error:
            raise Refused(409, str(error)) from None
        log.info("ordered", order=ordered.order, tenant=tenant, version=taught.version)
        return {"version": taught.version}

    async def resend(self, request: web.Request) -> dict[str, Any]:
        """Send dead letters again."""
        asked = await _read(Resend, request)
        if self._sources.settings.auth == "jwt" and asked.token is None:
            raise Refused(
                400,
                "dead letters are kept without tokens, and AUTH=jwt needs one: give their tenant's",
            )
        sources = self._sources
        done = await send_again(sources.broker, sources.names, asked.offsets, asked.token)
        log.info("sent again", offsets=list(asked.offsets), sent=done["sent"])
        return done


async def _read(model: type[R], request: web.Request) -> R:
    try:
        return decode(model, await request.read())
    except DecodeError as error:
        raise Refused(400, str(error)) from None
