"""What is read of the store for each tenant, fresh enough to change while the service runs."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")

FRESH_S = 1.0
"""How long what was read is believed: a change is in force a second later, and a tenant with a
thousand searches a second costs the store one small read more."""

MAX_TENANTS = 10_000
"""How many tenants are remembered: a few kilobytes each, so some tens of megabytes at the most."""


@dataclass(frozen=True, slots=True)
class _Read(Generic[T]):
    """One read of the store, under way or done."""

    started_s: float
    value: "asyncio.Task[T]"


class FreshReads(Generic[T]):
    """Reads something of each tenant, at most once a second."""

    def __init__(
        self, read: Callable[[str], Coroutine[Any, Any, T]], monotonic: Callable[[], float]
    ) -> None:
        self._read = read
        self._monotonic = monotonic
        self._reads: dict[str, _Read[T]] = {}

    async def of(self, tenant_id: str) -> T:
        """Return what there is for the tenant; whoever asks meanwhile shares the read."""
        read = self._reads.get(tenant_id)
        if read is None or not self._is_fresh(read):
            read = self._start(tenant_id)
        # One who stops waiting must not end the read for the others.
        return await asyncio.shield(read.value)

    def forget(self, tenant_id: str) -> None:
        """Read anew the next time: something is known to have changed."""
        self._reads.pop(tenant_id, None)

    def forget_all(self) -> None:
        """Read everything anew the next time."""
        self._reads.clear()

    def _is_fresh(self, read: _Read[T]) -> bool:
        return not read.value.done() or self._monotonic() - read.started_s < FRESH_S

    def _start(self, tenant_id: str) -> _Read[T]:
        task = asyncio.create_task(self._read(tenant_id))
        task.add_done_callback(partial(self._forget_failure, tenant_id))
        # Taken out and put back, so that the first in the dictionary is the longest unread.
        self._reads.pop(tenant_id, None)
        if len(self._reads) >= MAX_TENANTS:
            self._reads.pop(next(iter(self._reads)))
        read = self._reads[tenant_id] = _Read(self._monotonic(), task)
        return read

    def _forget_failure(self, tenant_id: str, task: "asyncio.Task[T]") -> None:
        """Let the next to ask try again; those who waited have been told."""
        read = self._reads.get(tenant_id)
        failed = task.cancelled() or task.exception() is not None
        if failed and read is not None and read.value is task:
            del self._reads[tenant_id]
