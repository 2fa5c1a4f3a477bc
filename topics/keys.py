"""Keys of events: what decides their partition, and so their order."""

from topics.faults import DecodeError, SalvagedIds


def event_key(tenant_id: str, session_id: str | None) -> bytes:
    """Key of an event of a session; everything about one session stays in order.

    An item outside any session has an empty session part: all such items of a tenant share a
    partition, so the writes of one memory stay in order.
    """
    return f"{tenant_id}/{session_id or ''}".encode()


def tenant_key(tenant_id: str) -> bytes:
    """Key of a trajectory or policy: a tenant's history stays in order."""
    return tenant_id.encode()


def check_key(key: bytes | None, ids: SalvagedIds | None = None) -> None:
    """Refuse a message without a key: it could be on any partition, out of order with its session.

    What a key says is never read, only that there is one; the tenant is always the body's.
    """
    if not key:
        got = "no key" if key is None else "an empty key"
        message = f"key: got {got}; should be tenant_id/session_id"
        raise DecodeError("invalid_request", message, ids)
