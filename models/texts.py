"""Text and JSON that people write: queries, memories, metadata, filters."""

import json
from math import isfinite
from typing import Annotated, Final

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

MAX_QUERY_CHARACTERS: Final = 8_192
MAX_CONTENT_CHARACTERS: Final = 65_536
MAX_JSON_BYTES: Final = 16 * 1024
# PATH_MAX of Linux: no file has a longer path.
MAX_PATH_CHARACTERS: Final = 4_096
# A result nests metadata a few levels deeper than the item did, and JSON readers stop at 200 or so.
MAX_JSON_DEPTH: Final = 100
# What readers in other languages hold exactly; beyond 64 bits many fail on the whole message.
MAX_JSON_INTEGER: Final = 2**63 - 1

# PostgreSQL text cannot hold U+0000.
NO_NUL: Final = r"^[^\u0000]*$"

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, pattern=NO_NUL)]
OptionalQuery = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS, pattern=NO_NUL)]
Content = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARACTERS, pattern=NO_NUL)]
SourcePath = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS, pattern=NO_NUL)]


def compact_json(value: JsonValue) -> bytes:
    """JSON as short as it gets, in UTF-8: the form in which sizes are counted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _refuse_text(text: str) -> None:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "Text should not contain U+0000")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise PydanticCustomError("lone_surrogate", "Text should not contain lone surrogates")


def _refuse_number(number: float) -> None:
    if isinstance(number, int) and abs(number) > MAX_JSON_INTEGER:
        raise PydanticCustomError("huge_integer", "Integers should fit in 64 bits")
    if not isfinite(number):
        raise PydanticCustomError("finite_number", "Numbers should be finite")


def _refuse_unstorable(value: JsonValue, depth: int = 1) -> None:
    """Raise for anything inside that a store or another reader could not hold."""
    if depth > MAX_JSON_DEPTH:
        raise PydanticCustomError(
            "too_deep", "JSON should be nested at most {limit} deep", {"limit": MAX_JSON_DEPTH}
        )
    if isinstance(value, str):
        _refuse_text(value)
    elif isinstance(value, int | float):
        _refuse_number(value)
    elif isinstance(value, list):
        for entry in value:
            _refuse_unstorable(entry, depth + 1)
    elif isinstance(value, dict):
        for name, entry in value.items():
            _refuse_text(name)
            _refuse_unstorable(entry, depth + 1)


def _bounded(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _refuse_unstorable(value)
    size = len(compact_json(value))
    if size > MAX_JSON_BYTES:
        raise PydanticCustomError(
            "json_too_large",
            "JSON should have at most {limit} bytes, not {size}",
            {"limit": MAX_JSON_BYTES, "size": size},
        )
    return value


JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_bounded)]
"""A JSON object of at most 16 KiB as compact UTF-8, holding nothing a store could not hold."""
