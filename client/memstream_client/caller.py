"""In whose name something is asked or told."""

from collections.abc import Callable
from dataclasses import dataclass, field

Header = tuple[str, bytes]

Token = str | Callable[[], str] | None
"""A JWT, or what returns one that has not expired."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant and a session, and what proves and traces them."""

    tenant: str
    session: str
    token: Token = field(default=None, repr=False)
    traceparent: str | None = None

    def ids(self) -> dict[str, str]:
        """Return what every request and signal carries."""
        return {"tenant_id": self.tenant, "session_id": self.session}

    def headers(self) -> list[Header]:
        """Return what goes beside every message."""
        token = self.token() if callable(self.token) else self.token
        headers = []
        if token:
            headers.append(("authorization", f"Bearer {token}".encode()))
        if self.traceparent:
            headers.append(("traceparent", self.traceparent.encode()))
        return headers
