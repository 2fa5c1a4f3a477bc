"""Whatever is written can be read, and whatever is read either is a record or a DecodeError."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import SearchRequest, SearchResult
from topics import DecodeError, Headers, Topic, decode, encode

MODELS = [topic.value.carries for topic in Topic if topic.value.carries]
CLOUDEVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
# Time says nothing about right or wrong on a shared machine.
unhurried = settings(deadline=None, max_examples=50)


@each_model
@unhurried
@given(data=st.data())
def test_a_record_survives_the_trip(model, any_record, data):
    record = data.draw(any_record(model))
    assert decode(model, encode(record), None) == record


@each_model
@unhurried
@given(data=st.data())
def test_a_record_survives_the_trip_in_a_cloudevent(model, any_record, data):
    record = data.draw(any_record(model))
    event = json.dumps({**CLOUDEVENT, "data": json.loads(encode(record))}).encode()
    headers = {"content-type": b"application/cloudevents+json"}
    assert decode(model, event, headers) == record


@each_model
@unhurried
@given(data=st.data())
def test_every_field_is_always_written(model, any_record, data):
    record = data.draw(any_record(model))
    assert json.loads(encode(record)).keys() == model.model_fields.keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(
    [*SearchRequest.model_fields, "specversion", "id", "source", "type", "data", "data_base64"]
)
VALUES = st.one_of(
    st.none(),
    st.binary(),
    st.text().map(lambda text: text.encode(errors="replace")),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(NAMES, JSON).map(lambda value: json.dumps(value).encode()),
)
HEADERS = st.none() | st.lists(
    st.tuples(
        st.sampled_from(["ce_id", "ce_specversion", "ce_source", "content-type", "Authorization"]),
        st.none() | st.binary() | st.sampled_from([b"1.0", b"application/cloudevents+json"]),
    )
)


def outcome(model, value, headers):
    try:
        return decode(model, value, Headers.parse(headers))
    except DecodeError as error:
        return error


@settings(deadline=None, max_examples=500)
@given(value=VALUES, headers=HEADERS, model=st.sampled_from(MODELS))
def test_any_bytes_are_a_record_or_a_decode_error(value, headers, model):
    read = outcome(model, value, headers)
    if isinstance(read, DecodeError):
        assert read.code in ("invalid_request", "too_large")
        # It has to fit into an answer and a header, both of them UTF-8.
        assert read.message.encode()
    else:
        assert isinstance(read, model)


def kinds(value):
    """Shape of JSON: the type of every field, with all numbers alike."""
    if isinstance(value, dict):
        return {name: kinds(entry) for name, entry in value.items()}
    return "number" if type(value) in (int, float) else type(value).__name__


ANSWER = {
    "request_id": "str",
    "tenant_id": "str",
    "session_id": "str",
    "status": "str",
    "results": "list",
    "degraded": "bool",
    "completed_at": "str",
}
ENTRY = {
    "memory_id": "str",
    "layer": "str",
    "scope": "str",
    "kind": "str",
    "content": "str",
    "score": "number",
    "created_at": "str",
}


@pytest.mark.requirement("TJ-2")
@unhurried
@given(data=st.data())
def test_the_shape_of_a_search_result_tells_nothing(any_record, data):
    answer = json.loads(encode(data.draw(any_record(SearchResult))))
    error = answer.pop("error")
    assert error is None or kinds(error) == {"code": "str", "message": "str"}
    assert kinds(answer) == ANSWER
    for entry in answer["results"]:
        assert isinstance(entry.pop("metadata"), dict)
        assert isinstance(entry.pop("similarity"), float | int | None)
        assert kinds(entry) == ENTRY
