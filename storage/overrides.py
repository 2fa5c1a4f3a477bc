"""A tenant's overrides between a store and its callers: checked on the way in and out."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError

from models import TenantOverrides
from storage.protocol import StoreError


def split_changes(changes: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], list[str]]:
    """Return what to set and which keys to remove; raise ValidationError for what is not allowed.

    Unlike in a message, a name that is not known is refused: nobody would notice the misspelt one.
    """
    TenantOverrides.model_validate(dict(changes), extra="forbid")
    kept: dict[str, JsonValue] = {key: value for key, value in changes.items() if value is not None}
    return kept, [key for key in changes if key not in kept]


def read_overrides(tenant_id: str, stored: Mapping[str, JsonValue] | None) -> TenantOverrides:
    """Return what was stored; keys of a newer version are passed over."""
    try:
        return TenantOverrides.model_validate(dict(stored or {}))
    except ValidationError as error:
        wrong = sorted({str(fault["loc"][0]) for fault in error.errors()})
        remedy = " ".join(f"{key}=default" for key in wrong)
        raise StoreError(
            f"tenant {tenant_id} has overrides this version cannot read ({', '.join(wrong)}): "
            f"run `memstream tenant set {tenant_id} {remedy}`"
        ) from error
