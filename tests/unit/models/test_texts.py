"""Metadata and filters: bounded, and nothing in them that a store could not hold."""

import pytest
from pydantic import TypeAdapter, ValidationError

from models.texts import MAX_JSON_BYTES, MAX_JSON_DEPTH, JsonObject

OBJECT = TypeAdapter(JsonObject)


def nested(depth):
    value = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_the_limit_counts_bytes_of_compact_json():
    # {"a":"…"} around the text takes 8 bytes, and each é two.
    fits = {"a": "é" * ((MAX_JSON_BYTES - 8) // 2)}
    assert OBJECT.validate_python(fits) == fits
    with pytest.raises(ValidationError, match="at most 16384 bytes, not 16386"):
        OBJECT.validate_python({"a": fits["a"] + "é"})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"a": "\x00"}, r"U\+0000"),
        ({"\x00": 1}, r"U\+0000"),
        ({"a": [{"b": "\x00"}]}, r"U\+0000"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        ({"a": float("nan")}, "finite"),
        ({"a": [float("inf")]}, "finite"),
        ({"a": 2**63}, "64 bits"),
        (nested(MAX_JSON_DEPTH + 1), "nested"),
    ],
)
def test_what_could_not_be_stored_is_refused(value, complaint):
    with pytest.raises(ValidationError, match=complaint):
        OBJECT.validate_python(value)


@pytest.mark.parametrize(
    "value", [{}, {"a": None, "b": [True, 1.5, "\\u0000", {"c": "☕"}]}, nested(MAX_JSON_DEPTH)]
)
def test_other_json_is_kept_as_it_is(value):
    assert OBJECT.validate_python(value) == value
