"""How large the newest contexts of each tenant were, in bounded memory."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from models import Record

MOST_TENANTS = 100
"""Of so many tenants, those heard of last."""

MOST_EACH = 500
"""So many contexts of each."""


class _Glimpse(Record):
    """What is needed of a context; its text is passed over."""

    tenant_id: str
    status: str
    tokens: int


class Contexts:
    """Keeps the tokens of each tenant's newest contexts."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, deque[float]] = OrderedDict()

    def begin(self, _: Mapping[Any, int]) -> None:
        """Forget all."""
        self._tenants.clear()

    def take(self, message: Any, _: int) -> None:
        """Take a context in, if it is one."""
        try:
            seen = _Glimpse.model_validate_json(message.value or b"")
        except ValidationError:
            return
        if seen.status != "ok":
            return
        self._tenants.setdefault(seen.tenant_id, deque(maxlen=MOST_EACH)).append(seen.tokens)
        self._tenants.move_to_end(seen.tenant_id)
        if len(self._tenants) > MOST_TENANTS:
            self._tenants.popitem(last=False)

    def of(self, tenant_id: str) -> list[float]:
        """Return the tokens of a tenant's newest contexts."""
        return list(self._tenants.get(tenant_id, ()))
