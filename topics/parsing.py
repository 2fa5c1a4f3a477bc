"""JSON text read strictly: what other readers could understand differently is refused."""

import json
from typing import Any, NoReturn

from topics.faults import DecodeError

# What json gives for an object; its values are looked into, never trusted.
JsonFields = dict[str, Any]


class _StrictnessError(Exception):
    """JSON that Python would take and others would not, or not in the same way."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> JsonFields:
    # Readers differ on which of two equal keys counts; a check and a use must never disagree.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _StrictnessError(f"duplicate key {json.dumps(twice[:100])}")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise _StrictnessError(f"{name} is not a JSON number")


_STRICT = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_no_constant)


def _parsed(value: bytes) -> Any:
    text = value.decode()
    parsed = _STRICT.decode(text)
    if "\\u" in text:
        # Only an escape can smuggle in half of a surrogate pair, which no UTF-8 can hold.
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def parse_object(value: bytes) -> JsonFields:
    """Read a JSON object, or say in a DecodeError why not; RecursionError if nested too deeply."""
    try:
        parsed = _parsed(value)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8"
    except UnicodeEncodeError:
        problem = "an escape is half of a surrogate pair"
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}"
    except _StrictnessError as error:
        problem = str(error)
    except ValueError:
        # Python stops at 4,300 digits, as reading more takes quadratic time.
        problem = "a number has too many digits"
    else:
        if isinstance(parsed, dict):
            return parsed
        problem = f"got {_kind(parsed)}"
    raise DecodeError("invalid_request", f"value: should be a JSON object in UTF-8; {problem}")


def _kind(parsed: object) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(parsed), "a number")
