"""What is wrong with a message, in words its sender understands."""

import json
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from models.identifiers import NO_CONTROL_CHARACTERS
from models.texts import NO_NUL
from topics.faults import DecodeCode

# Enough to recognise what was sent, not enough to spread it.
MAX_SHOWN_CHARACTERS: Final = 100
# A message with more faults than this is of another kind altogether.
MAX_COMPLAINTS: Final = 5

_TOO_LARGE: Final = frozenset({"string_too_long", "too_long", "json_too_large"})
_PATTERNS: Final = {
    NO_CONTROL_CHARACTERS: "String should have no control characters",
    NO_NUL: "String should not contain U+0000",
}


def code_of(error: ValidationError) -> DecodeCode:
    """Code of a failed validation: too large only if nothing else is wrong."""
    sizes = all(fault["type"] in _TOO_LARGE for fault in error.errors(include_url=False))
    return "too_large" if sizes else "invalid_request"


def describe(error: ValidationError) -> str:
    """Say for each field what was got and what is allowed, a line each."""
    faults = _innermost(error.errors(include_url=False))
    lines = [_line(fault) for fault in faults[:MAX_COMPLAINTS]]
    if len(faults) > MAX_COMPLAINTS:
        lines.append(f"and {len(faults) - MAX_COMPLAINTS} more")
    return "\n".join(lines)


def _innermost(faults: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out what only follows: a list with a wrong entry is also said to be too short."""
    inner = {fault["loc"][:depth] for fault in faults for depth in range(len(fault["loc"]))}
    return [fault for fault in faults if not fault["loc"] or fault["loc"] not in inner]


def _line(fault: ErrorDetails) -> str:
    field, allowed = _field(fault["loc"]), _allowed(fault)
    if fault["type"] == "missing":
        return f"{field}: missing"
    if fault["type"] == "json_invalid":
        return f"value: {allowed}"
    if not field:
        # Said of the message as a whole; such a text names its field itself.
        return allowed
    return f"{field}: got {_shown(fault['input'])}; {_uncapitalised(allowed)}"


def _field(loc: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:40]}" for part in loc)
    return "".join(parts).removeprefix(".")


def _allowed(fault: ErrorDetails) -> str:
    context = fault.get("ctx", {})
    if fault["type"] == "string_pattern_mismatch":
        return _PATTERNS[context["pattern"]]
    # pydantic speaks of tuples and dictionaries here, the sender of arrays and objects.
    if fault["type"] == "too_short":
        return f"should have at least {context['min_length']} entries"
    if fault["type"] == "too_long":
        return f"should have at most {context['max_length']} entries"
    return fault["msg"]


def _uncapitalised(text: str) -> str:
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    cut = MAX_SHOWN_CHARACTERS - 1
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:cut]}…"
