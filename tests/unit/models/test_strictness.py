"""What every record refuses, whatever it is a record of."""

import json

import pytest
from pydantic import ValidationError

from models import ContextUsage, Feedback, Item, SearchRequest

REQUEST = {"request_id": "r", "tenant_id": "t", "session_id": "s", "query": "tea"}
ITEM = {"event_id": "e", "tenant_id": "t", "memory_id": "m", "content": "likes tea"}


def read(model, fields, **changed):
    return model.model_validate_json(json.dumps({**fields, **changed}))


def test_unknown_fields_are_ignored():
    assert not hasattr(read(SearchRequest, REQUEST, shoe_size=43), "shoe_size")


def test_records_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        read(SearchRequest, REQUEST).limit = 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", "10"),
        ("limit", 10.5),
        ("limit", True),
        ("limit", None),
        ("threshold", "0.5"),
        ("threshold", True),
        ("query", 5),
        ("layers", "user"),
        ("filters", []),
        ("requested_at", 1_700_000_000),
    ],
)
def test_an_ill_typed_field_is_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        read(SearchRequest, REQUEST, **{field: value})


def test_an_integer_will_do_for_a_number():
    assert read(Item, ITEM, importance=7).importance == 7.0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_is_finite(number):
    text = json.dumps({**ITEM, "decay_rate": 12345}).replace("12345", number)
    with pytest.raises(ValidationError, match="decay_rate"):
        Item.model_validate_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0),
        ("limit", -1),
        ("limit", 101),
        ("threshold", 1.1),
        ("min_score", -0.1),
        ("min_confidence", 2),
        ("operation", "zap"),
        ("mode", "psychic"),
        ("fusion", "cold"),
        ("strategy", "hope"),
        ("layers", []),
        ("layers", ["basement"]),
        ("memory_ids", []),
        ("memory_ids", ["m"] * 101),
        ("scope", ""),
    ],
)
def test_a_request_out_of_range_is_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        read(SearchRequest, REQUEST, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("importance", 10.5),
        ("importance", -1),
        ("confidence", 1.5),
        ("decay_rate", -0.1),
        ("position", -1),
        ("position", 2**53),
        ("layer", "basement"),
        ("kind", "rumour"),
        ("op", "merge"),
        ("content", ""),
        ("content", "a\x00b"),
        ("content", "x" * 65_537),
        ("source_path", "x" * 4_097),
        ("entities", {"team": 5}),
        ("entities", {"": "api"}),
        ("entities", {str(n): "x" for n in range(33)}),
    ],
)
def test_an_item_out_of_range_is_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        read(Item, ITEM, **{field: value})


@pytest.mark.parametrize("quality", [-0.1, 1.1])
def test_quality_lies_between_0_and_1(quality):
    signal = {"event_id": "e", "tenant_id": "t", "session_id": "s", "request_id": "r"}
    with pytest.raises(ValidationError, match="quality_score"):
        read(Feedback, signal, quality_score=quality)
    with pytest.raises(ValidationError, match="quality_score"):
        read(ContextUsage, signal, memory_ids=["m"], quality_score=quality)


@pytest.mark.parametrize("identifier", ["", "x" * 257, "a\nb", "a\x00", "\x7f", "a\u0085b"])
def test_an_id_is_short_and_has_no_control_characters(identifier):
    with pytest.raises(ValidationError, match="tenant_id"):
        read(SearchRequest, REQUEST, tenant_id=identifier)


@pytest.mark.parametrize("identifier", ["x" * 256, "käse/☕", "a b", "😀" * 256])
def test_an_id_may_be_anything_else(identifier):
    assert read(SearchRequest, REQUEST, tenant_id=identifier).tenant_id == identifier


def test_the_longest_texts_are_accepted():
    assert len(read(SearchRequest, REQUEST, query="x" * 8_192).query) == 8_192
    assert len(read(Item, ITEM, content="😀" * 65_536).content) == 65_536


@pytest.mark.parametrize("query", ["x" * 8_193, "tea\x00"])
def test_a_query_is_bounded_and_storable(query):
    with pytest.raises(ValidationError, match="query"):
        read(SearchRequest, REQUEST, query=query)


def test_a_lone_surrogate_is_refused():
    with pytest.raises(ValidationError):
        SearchRequest(**{**REQUEST, "query": "\ud800"})
