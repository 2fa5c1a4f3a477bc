"""What each tenant has its own way."""

from collections.abc import Callable

from models import InForce, TenantOverrides
from retrieval.fresh import FreshReads
from storage import Store


class TenantSettings:
    """Tenants' overrides, over the service's own values."""

    def __init__(
        self, store: Store, monotonic: Callable[[], float], service: InForce | None = None
    ) -> None:
        self._service = service or InForce()
        self._store = store
        self._reads = FreshReads(self._read, monotonic)

    async def of(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way."""
        return await self._reads.of(tenant_id)

    async def in_force(self, tenant_id: str) -> InForce:
        """Return what the tenant is served by: its own values, else the service's."""
        return (await self.of(tenant_id)).in_force(self._service)

    async def in_force_now(self, tenant_id: str) -> InForce:
        """Return the same, read anew."""
        self._reads.forget(tenant_id)
        return await self.in_force(tenant_id)

    async def _read(self, tenant_id: str) -> TenantOverrides:
        return await self._store.overrides(tenant_id)
