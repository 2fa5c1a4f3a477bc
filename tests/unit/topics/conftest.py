"""Any valid record of a model, drawn from the model's own annotations and limits."""

import operator
from datetime import UTC, datetime
from functools import cache, reduce
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import pytest
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, JsonValue
from pydantic.fields import FieldInfo

from models import Item, SearchRequest
from models.answers import Answer
from models.identifiers import NO_CONTROL_CHARACTERS

# Long enough to be interesting; the limits themselves are tested one by one.
LONGEST = 20

# Control characters are refused in ids; U+0000 and surrogates everywhere.
ID_CHARACTERS = st.characters(exclude_categories=("Cc", "Cs"))
TEXT_CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
TEXTS = st.text(TEXT_CHARACTERS, max_size=LONGEST)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
MOMENTS = st.datetimes(
    datetime(1, 1, 3),  # noqa: DTZ001 - hypothesis wants the bounds naive
    datetime(9999, 12, 29),  # noqa: DTZ001
    timezones=st.just(UTC),
)


def limits_of(metadata):
    """Limits in a field's metadata by name: min_length, max_length, pattern, ge, gt, le."""
    limits = {}
    for entry in metadata:
        inner = entry.metadata if isinstance(entry, FieldInfo) else [entry]
        for part in inner:
            names = ("min_length", "max_length", "pattern", "ge", "gt", "le")
            limits |= {name: getattr(part, name) for name in names if hasattr(part, name)}
    return limits


def texts(limits):
    ids = limits.get("pattern") == NO_CONTROL_CHARACTERS
    alphabet = ID_CHARACTERS if ids else TEXT_CHARACTERS
    return st.text(alphabet, min_size=limits.get("min_length", 0), max_size=LONGEST)


def floats(limits):
    lower = limits.get("gt", limits.get("ge"))
    return st.floats(
        lower,
        limits.get("le"),
        exclude_min="gt" in limits,
        allow_nan=False,
        allow_infinity=False,
    )


SIMPLE = {
    NoneType: lambda _: st.none(),
    bool: lambda _: st.booleans(),
    str: texts,
    float: floats,
    int: lambda limits: st.integers(limits["ge"], limits.get("le", 2**53 - 1)),
    AwareDatetime: lambda _: MOMENTS,
    JsonValue: lambda _: JSON,
}


def values(annotation, limits):
    """Any value an annotation allows."""
    if annotation in SIMPLE:
        return SIMPLE[annotation](limits)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return records(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return values(arguments[0], limits_of(arguments[1:]))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return reduce(operator.or_, [values(argument, {}) for argument in arguments])
    if origin is tuple:
        lists = st.lists(values(arguments[0], {}), min_size=limits.get("min_length", 0), max_size=3)
        return lists.map(tuple)
    assert origin is dict, annotation
    return st.dictionaries(
        values(arguments[0], {}),
        values(arguments[1], {}),
        min_size=limits.get("min_length", 0),
        max_size=3,
    )


def coherent(model, fields):
    """Make fields fit each other where a model asks for it."""
    if model is Item and fields["content"] is None:
        fields["op"] = "delete"
    if model is SearchRequest and fields["operation"] == "get":
        fields["memory_ids"] = fields["memory_ids"] or ("m",)
    elif model is SearchRequest:
        fields["query"] = fields["query"] or "tea"
    if issubclass(model, Answer):
        fields["status"] = "error" if fields["error"] else "ok"
    return model(**fields)


@cache
def records(model):
    """Any valid record of a model."""
    fields = {
        name: values(field.annotation, limits_of(field.metadata))
        for name, field in model.model_fields.items()
    }
    return st.fixed_dictionaries(fields).map(lambda drawn: coherent(model, drawn))


@pytest.fixture(scope="session")
def any_record():
    """Strategy of the valid records of a model."""
    return records
