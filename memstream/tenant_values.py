"""Reads what people type after ``memstream tenant set T``: KEY=VALUE, with values as they come."""

import json
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue, ValidationError

from models import FusionWeights, Record, ScopeWeights, TenantOverrides
from models.contexts import MAX_TOKEN_BUDGET
from models.identifiers import Identifier
from topics import decode

# Enough to recognise what was typed.
MAX_SHOWN_CHARACTERS: Final = 100

_SHARE: Final = "a number from 0 to 1"
_SWITCH: Final = "true or false (also on, off, yes, no)"
_SUM: Final = "numbers, 0 or more and not all 0"

ALLOWED: Final = {
    "routing_threshold": _SHARE,
    "rlm_enabled": _SWITCH,
    "reasoning_enabled": _SWITCH,
    "reasoning_cache_ttl_s": "seconds, 0 or more",
    "search_threshold": _SHARE,
    "recall_weights": f"{_SUM}, such as 0.4,0.3,0.2,0.1 (relevance, importance, recency, "
    "confidence; a fifth is value) or relevance=0.6,value=0.2 or "
    '{"relevance": 0.6, "scopes": {"work": {"recency": 0.5}}}',
    "fusion_weights": f"{_SUM}, such as 0.7,0.3 (vector, keyword) or keyword=0.5",
    "token_budget": f"a whole number from 1 to {MAX_TOKEN_BUDGET}",
    "latency_budget_ms": "milliseconds, above 0",
    "global_prior": _SWITCH,
    "reply_topics": "topics, or beginnings of them and a *, such as acme.replies,acme.app.*",
}
"""What each key may be set to, in words."""

_SWITCHES: Final = {
    **dict.fromkeys(("true", "on", "yes"), True),
    **dict.fromkeys(("false", "off", "no"), False),
}
_PARTS: Final[dict[str, type[Record]]] = {
    "recall_weights": ScopeWeights,
    "fusion_weights": FusionWeights,
}
_REMOVED: Final = ("", "default", "null")


class TenantValueError(Exception):
    """A key or value is not allowed; the message names it and what is."""


class _Tenant(Record):
    """A tenant as it is named on the command line."""

    tenant_id: Identifier
    """The tenant."""


def check_tenant(tenant_id: str) -> str:
    """Return the id, or complain of it as the service would."""
    return decode(_Tenant, json.dumps({"tenant_id": tenant_id}).encode()).tenant_id


def read_changes(assignments: Sequence[str]) -> dict[str, JsonValue]:
    """Return the overrides to set, None for those to remove; all are right or none is read."""
    if not assignments:
        raise TenantValueError(f"nothing to set: write KEY=VALUE; keys are {', '.join(ALLOWED)}")
    return dict(_change(assignment) for assignment in assignments)


def _change(assignment: str) -> tuple[str, JsonValue]:
    key, equals, text = assignment.partition("=")
    key, text = key.strip(), text.strip()
    if key not in ALLOWED:
        raise TenantValueError(f"{_shown(key)}: no such key; there are {', '.join(ALLOWED)}")
    if not equals:
        raise TenantValueError(f"{key}: no value; write {key}=VALUE, allowed: {ALLOWED[key]}")
    value = _value(key, text)
    try:
        TenantOverrides.model_validate({key: value}, extra="forbid")
    except ValidationError:
        raise TenantValueError(
            f"{key} is {_shown(text)}; allowed: {ALLOWED[key]}; or {key}=default"
        ) from None
    return key, value


def _value(key: str, text: str) -> JsonValue:
    if text in _REMOVED:
        return None
    if ALLOWED[key] is _SWITCH:
        return _SWITCHES.get(text.lower(), text)
    if key == "reply_topics" and not text.startswith("["):
        return [name.strip() for name in text.split(",")]
    try:
        parsed: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return _weights(_PARTS[key], text) if key in _PARTS else text
    return parsed


def _weights(model: type[Record], text: str) -> JsonValue:
    """Read 0.7,0.3 (in order; those that are 0 by default may be left out) or keyword=0.5."""
    entries = [entry.rpartition("=") for entry in text.split(",")]
    named = any(equals for _, equals, _ in entries)
    fields = model.model_fields
    names = [name.strip() for name, _, _ in entries] if named else list(fields)[: len(entries)]
    left_out = [] if named else list(fields.values())[len(entries) :]
    if len(names) != len(entries) or any(field.default for field in left_out):
        return text
    try:
        numbers = [float(number) for _, _, number in entries]
    except ValueError:
        return text
    return dict(zip(names, numbers, strict=True))


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…")
