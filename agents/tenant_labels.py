"""Names of tenants in metrics: only so many, or the metrics would outgrow what they measure."""

OTHER = "other"


class TenantLabels:
    """Gives the first tenants that come a label of their own, and all later ones the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, tenant_id: str) -> str:
        """Return what a tenant is called in metrics."""
        if tenant_id not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(tenant_id)
        return tenant_id
