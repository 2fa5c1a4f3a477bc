"""The policies that serve searches, and the gauges that tell of them."""

from collections.abc import Callable
from typing import Protocol

from agents.metrics import EXPLORATION_RATE, POLICY_VERSION
from agents.tenant_labels import OTHER, TenantLabels
from models import ServingPolicy

STALE_S = 600.0
"""A tenant whose searches come here no longer is told of so long: its policy goes on elsewhere."""

LOOK_EVERY_S = 60.0
"""How often it is looked for such tenants."""


class Policies(Protocol):
    """Where policies are kept."""

    async def serving(self, tenant_id: str) -> ServingPolicy | None:
        """Return what serves the tenant, None if nothing was learned for it yet."""


class ToldPolicies:
    """Reads policies, and tells which version serves: also after a restart, or an order."""

    def __init__(
        self, policies: Policies, labels: TenantLabels, monotonic: Callable[[], float]
    ) -> None:
        self._policies = policies
        self._labels = labels
        self._monotonic = monotonic
        self._told: dict[str, float] = {}
        self._looked = monotonic()

    async def serving(self, tenant_id: str) -> ServingPolicy | None:
        """Return what serves the tenant; the version of what is shipped is 0."""
        found = await self._policies.serving(tenant_id)
        label = self._labels.of(tenant_id)
        tell(label, found.version if found else 0, found.exploration_rate if found else 0.0)
        self._told[label] = self._monotonic()
        self._forget_stale()
        return found

    def _forget_stale(self) -> None:
        now = self._monotonic()
        if now - self._looked < LOOK_EVERY_S:
            return
        self._looked = now
        for label in [one for one, at in self._told.items() if now - at >= STALE_S]:
            del self._told[label]
            for gauge in (POLICY_VERSION, EXPLORATION_RATE):
                if label != OTHER:
                    gauge.remove(label)


def tell(label: str, version: int, exploration: float) -> None:
    """Tell which policy serves a tenant; of several under one label there is nothing to tell."""
    if label != OTHER:
        POLICY_VERSION.labels(label).set(version)
        EXPLORATION_RATE.labels(label).set(exploration)
