"""The policy that serves each tenant, as it was last learned."""

from collections.abc import Callable, Mapping
from typing import Protocol

from models import ServingPolicy
from retrieval.choosing import Policy
from retrieval.fresh import FreshReads
from retrieval.ranking import PRIOR


class Learned(Protocol):
    """Where policies are kept."""

    async def serving(self, tenant_id: str) -> ServingPolicy | None:
        """Return what serves the tenant, None if nothing was learned for it yet."""


class Policies:
    """Tenants' policies; a tenant for whom nothing was learned has the prior."""

    def __init__(
        self,
        learned: Learned | None,
        monotonic: Callable[[], float],
        prior: Mapping[str, float] = PRIOR,
    ) -> None:
        self._learned = learned
        self._prior = Policy(weights=prior)
        self._reads = FreshReads(self._read, monotonic)

    async def of(self, tenant_id: str) -> Policy:
        """Return what serves the tenant."""
        return self._prior if self._learned is None else await self._reads.of(tenant_id)

    def forget(self, tenant_id: str) -> None:
        """Look anew the next time: the tenant has learned something."""
        self._reads.forget(tenant_id)

    def forget_all(self) -> None:
        """Look anew for every tenant."""
        self._reads.forget_all()

    async def _read(self, tenant_id: str) -> Policy:
        if self._learned is None or (found := await self._learned.serving(tenant_id)) is None:
            return self._prior
        return Policy.of(found.version, found.weights, found.exploration_rate)
