"""What the pages read: each answer is plain data, of one tenant wherever a tenant is named."""

import asyncio
from dataclasses import asdict
from datetime import timedelta
from typing import Any, get_args

from aiohttp import web

from memstream.clock import now
from memstream.console.access import Access, Refused
from memstream.console.recent import MOST_BYTES, mix
from memstream.console.sources import Sources
from memstream.console.views import policy_view, settled, tenant_view, trajectory_view
from memstream.tenant_values import check_tenant
from memstream.wiring import prior_of
from models.trajectories import OutcomeType, Route
from topics import DecodeError

MOST_LISTED = 500
"""At most so many are listed at once."""

_LIMITS = frozenset(map(str, range(1, MOST_LISTED + 1)))


class Api:
    """Answers what the pages ask."""

    def __init__(self, sources: Sources, access: Access) -> None:
        self._sources = sources
        self._access = access

    async def access(self, _: web.Request) -> dict[str, Any]:
        """Tell whether a token is needed, and whether orders are taken."""
        return {
            "login": self._access.login,
            "writable": self._access.token is not None,
            "auth": self._sources.settings.auth,
        }

    async def overview(self, _: web.Request) -> dict[str, Any]:
        """Tell how this worker does, and what came of the newest searches."""
        reasons = await self._sources.health.reasons()
        recent, why = await self._sources.recent()
        everything = list(recent.everything())
        return {
            "at": now().isoformat(),
            "ready": not reasons,
            "reasons": reasons,
            **self._sources.pulse.told(),
            "join": {
                name: value
                for name, value in asdict(await self._sources.store.joins.join_health()).items()
                if name != "oldest_at"
            },
            "searches": len(everything),
            "outcomes": mix(everything, "outcome"),
            "tenants": [
                {
                    "tenant_id": tenant,
                    "searches": len(searches),
                    "reward": sum(one.reward for one in searches) / len(searches),
                    "policy_version": searches[-1].policy_version,
                    "last_at": searches[-1].completed_at,
                }
                for tenant in recent.tenants()
                if (searches := recent.of(tenant))
            ],
            "unread": why,
        }

    async def tenant(self, request: web.Request) -> dict[str, Any]:
        """Tell how one tenant is doing."""
        tenant = tenant_of(request)
        (recent, why), (contexts, unseen) = await asyncio.gather(
            self._sources.recent(), self._sources.contexts()
        )
        settings = self._sources.settings
        window = timedelta(seconds=settings.outcome_window_s)
        settled_until = settled(now(), window)
        view = await tenant_view(
            *(self._sources.store, tenant, recent.of(tenant), contexts.of(tenant), settled_until),
            *(prior_of(settings), settings.service()),
        )
        return {
            **view,
            "course": self._sources.course.of(tenant),
            "settled_until": settled_until.isoformat(),
            "outcome_window_s": settings.outcome_window_s,
            "unread": why or unseen,
        }

    async def policy(self, request: web.Request) -> dict[str, Any]:
        """Tell what was learned for a tenant, and what became of it."""
        return await policy_view(
            self._sources.store, tenant_of(request), prior_of(self._sources.settings)
        )

    async def trajectories(self, request: web.Request) -> dict[str, Any]:
        """List the newest of the searches asked for."""
        self._sources.listen()
        recent, why = await self._sources.recent()
        found = recent.found(
            tenant_of(request) if request.query.get("tenant") else None,
            _one_of(request, "route", get_args(Route)),
            _one_of(request, "outcome", get_args(OutcomeType)),
            _limit(request),
        )
        return {"trajectories": [one.told() for one in found], "unread": why}

    async def trajectory(self, request: web.Request) -> dict[str, Any]:
        """Tell all of one search."""
        (recent, why), (heard, unheard) = await asyncio.gather(
            self._sources.recent(), self._sources.heard()
        )
        known = recent.one(tenant_of(request), request.query.get("id", ""))
        if known is None:
            raise Refused(404, why or "the tenant has no such search among the newest")
        whole = recent.whole(known)
        if whole is None:
            raise Refused(
                410,
                f"only the newest {MOST_BYTES // 2**20} MiB of searches are kept whole, and this "
                "one is older: memstream trajectories --json has all of it",
            )
        view = await trajectory_view(self._sources.store, whole, known, heard, now())
        return {**view, "unread": why or unheard}

    async def dead_letters(self, request: web.Request) -> dict[str, Any]:
        """List the newest of the dead letters asked for."""
        letters, why = await self._sources.letters()
        found = letters.found(
            tenant_of(request) if request.query.get("tenant") else None,
            request.query.get("code") or None,
            request.query.get("topic") or None,
            _limit(request),
        )
        return {"dead_letters": found, "unread": why}


def tenant_of(request: web.Request) -> str:
    """Return the tenant asked for, if it can be one."""
    try:
        return check_tenant(request.query.get("tenant", ""))
    except DecodeError as error:
        raise Refused(400, str(error)) from None


def _one_of(request: web.Request, name: str, allowed: tuple[str, ...]) -> str | None:
    value = request.query.get(name) or None
    if value not in (None, *allowed):
        raise Refused(400, f"{name} is not one of {', '.join(allowed)}")
    return value


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", "100")
    if text not in _LIMITS:
        raise Refused(400, f"limit is a whole number from 1 to {MOST_LISTED}")
    return int(text)
