"""What each tenant has its own way, fresh enough to change while the service runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from models import InForce, TenantOverrides
from storage import Store

FRESH_S = 1.0
"""How long what was read is believed: a change is in force a second later, and a tenant with a
thousand searches a second costs the store one small read more."""

MAX_TENANTS = 10_000
"""How many tenants are remembered: a few kilobytes each, so some tens of megabytes at the most."""


@dataclass(frozen=True, slots=True)
class _Read:
    """One read of the store, under way or done."""

    started_s: float
    overrides: "asyncio.Task[TenantOverrides]"


class TenantSettings:
    """Reads tenants' overrides from the store, at most once a second for each."""

    def __init__(
        self, store: Store, monotonic: Callable[[], float], service: InForce | None = None
    ) -> None:
        self._store = store
        self._service = service or InForce()
        self._monotonic = monotonic
        self._reads: dict[str, _Read] = {}

    async def of(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way; whoever asks meanwhile shares the read."""
        read = self._reads.get(tenant_id)
        if read is None or not self._is_fresh(read):
            read = self._start(tenant_id)
        # One who stops waiting must not end the read for the others.
        return await asyncio.shield(read.overrides)

    async def in_force(self, tenant_id: str) -> InForce:
        """Return what the tenant is served by: its own values, else the service's."""
        return (await self.of(tenant_id)).in_force(self._service)

    def _is_fresh(self, read: _Read) -> bool:
        return not read.overrides.done() or self._monotonic() - read.started_s < FRESH_S

    def _start(self, tenant_id: str) -> _Read:
        task = asyncio.create_task(self._store.overrides(tenant_id))
        task.add_done_callback(partial(self._forget_failure, tenant_id))
        # Taken out and put back, so that the first in the dictionary is the longest unread.
        self._reads.pop(tenant_id, None)
        if len(self._reads) >= MAX_TENANTS:
            self._reads.pop(next(iter(self._reads)))
        read = self._reads[tenant_id] = _Read(self._monotonic(), task)
        return read

    def _forget_failure(self, tenant_id: str, task: "asyncio.Task[TenantOverrides]") -> None:
        """Let the next to ask try again; those who waited have been told."""
        read = self._reads.get(tenant_id)
        failed = task.cancelled() or task.exception() is not None
        if failed and read is not None and read.overrides is task:
            del self._reads[tenant_id]
