"""CloudEvents in both modes of the Kafka binding, and wrong ones."""

import base64
import json

import pytest

from models import Feedback, SearchRequest
from topics import DecodeError, SalvagedIds, decode

REQUEST = {"request_id": "r", "tenant_id": "t", "session_id": "s", "query": "tea"}
UNNAMED = {"tenant_id": "t", "session_id": "s", "query": "tea"}
ATTRIBUTES = {"specversion": "1.0", "id": "ce-1", "source": "/app", "type": "memory.search"}
STRUCTURED = {"content-type": b"application/cloudevents+json; charset=UTF-8"}
BINARY = {f"ce_{name}": value.encode() for name, value in ATTRIBUTES.items()}
READ = SearchRequest(**REQUEST)


def value_of(fields):
    return json.dumps(fields).encode()


def base64_of(fields):
    return base64.b64encode(value_of(fields)).decode()


def refused(value, headers=None):
    with pytest.raises(DecodeError) as caught:
        decode(SearchRequest, value, headers)
    assert caught.value.code == "invalid_request"
    return caught.value


@pytest.mark.parametrize("headers", [STRUCTURED, None, {}, {"Content-Type": b"application/json"}])
def test_a_structured_event_is_known_by_its_header_or_its_looks(headers):
    assert decode(SearchRequest, value_of({**ATTRIBUTES, "data": REQUEST}), headers) == READ


@pytest.mark.parametrize("headers", [STRUCTURED, None])
def test_data_may_be_base64(headers):
    event = {**ATTRIBUTES, "data_base64": base64_of(REQUEST)}
    assert decode(SearchRequest, value_of(event), headers) == READ


@pytest.mark.parametrize(
    "headers", [BINARY, {**BINARY, "content-type": b"application/json"}, list(BINARY.items())]
)
def test_a_binary_event_has_its_attributes_in_headers(headers):
    assert decode(SearchRequest, value_of(REQUEST), headers) == READ


def test_header_names_are_read_without_regard_to_case():
    headers = {name.upper(): value for name, value in BINARY.items()}
    assert decode(SearchRequest, value_of(UNNAMED), headers).request_id == "ce-1"


def test_the_content_type_decides_when_both_modes_are_there():
    value = value_of({**ATTRIBUTES, "data": REQUEST})
    assert decode(SearchRequest, value, {**BINARY, **STRUCTURED}) == READ


def test_the_id_of_the_event_stands_in_for_a_missing_one():
    structured = value_of({**ATTRIBUTES, "data": UNNAMED})
    assert decode(SearchRequest, structured, None).request_id == "ce-1"
    assert decode(SearchRequest, value_of(UNNAMED), BINARY).request_id == "ce-1"


def test_an_id_in_the_message_wins():
    assert decode(SearchRequest, value_of(REQUEST), BINARY).request_id == "r"


def test_a_signal_is_named_by_its_event_and_never_its_search():
    signal = {"tenant_id": "t", "session_id": "s", "request_id": "r", "quality_score": 1}
    assert decode(Feedback, value_of(signal), BINARY).event_id == "ce-1"
    del signal["request_id"]
    with pytest.raises(DecodeError, match="request_id: missing"):
        decode(Feedback, value_of(signal), BINARY)


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type"])
@pytest.mark.parametrize("wrong", [None, "", 5])
def test_a_structured_event_has_its_attributes(name, wrong):
    value = value_of({**ATTRIBUTES, "data": REQUEST, name: wrong})
    error = refused(value, STRUCTURED)
    assert error.message == f"CloudEvent: {name} missing, empty or not text"
    assert error.ids == SalvagedIds("r", "t", "s")


@pytest.mark.parametrize("name", ["ce_specversion", "ce_id", "ce_source", "ce_type"])
@pytest.mark.parametrize("wrong", [None, b"", b"\xff"])
def test_a_binary_event_has_its_attributes(name, wrong):
    error = refused(value_of(REQUEST), {**BINARY, name: wrong})
    assert error.message == f"CloudEvent: {name[3:]} missing, empty or not text"
    assert error.ids == SalvagedIds("r", "t", "s")


def test_all_that_is_missing_is_named():
    error = refused(value_of(REQUEST), {"ce_id": b"1"})
    assert "specversion, source, type missing" in error.message


def test_only_version_1_0_is_known():
    headers = {**BINARY, "ce_specversion": b"0.3"}
    assert "specversion: got '0.3'; should be '1.0'" in refused(value_of(REQUEST), headers).message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "either data or data_base64"),
        ({"data": None}, "either data or data_base64"),
        ({"data": REQUEST, "data_base64": "e30="}, "either data or data_base64"),
        ({"data": "tea"}, "data should be a JSON object"),
        ({"data_base64": "not base64!"}, "data_base64 should be base64"),
        ({"data_base64": "ä"}, "data_base64 should be base64"),
        ({"data_base64": 1234}, "data_base64 should be text"),
        ({"data_base64": base64_of([1])}, "got an array"),
    ],
)
def test_data_is_one_json_object(data, complaint):
    assert complaint in refused(value_of({**ATTRIBUTES, **data}), STRUCTURED).message


@pytest.mark.parametrize(
    "content_type", [b"application/cloudevents+avro", b"application/cloudevents-batch+json"]
)
def test_other_formats_are_refused_by_name(content_type):
    error = refused(value_of({**ATTRIBUTES, "data": REQUEST}), {"content-type": content_type})
    assert "should be 'application/cloudevents+json'" in error.message


@pytest.mark.parametrize(
    "event",
    [
        {**ATTRIBUTES, "data": {**UNNAMED, "limit": -1}},
        {**ATTRIBUTES, "data_base64": base64_of({**UNNAMED, "limit": -1})},
    ],
)
def test_the_sender_of_a_wrapped_broken_request_can_be_answered(event):
    assert refused(value_of(event)).ids == SalvagedIds("ce-1", "t", "s")
    broken = value_of({**UNNAMED, "limit": -1})
    assert refused(broken, BINARY).ids == SalvagedIds("ce-1", "t", "s")


@pytest.mark.parametrize("depth", [150, 250, *range(900, 1000, 3), 100_000])
def test_a_deeply_nested_event_is_read_or_refused(depth):
    # Some of these can be read and not be written again.
    event = value_of({**ATTRIBUTES, "data": {**REQUEST, "deep": 0}})
    value = event.replace(b'"deep": 0', b'"deep": ' + b"[" * depth + b"]" * depth)
    if depth == 150:
        assert decode(SearchRequest, value, None) == READ
    else:
        refused(value)


def test_a_message_that_only_resembles_an_event_is_left_alone():
    assert decode(SearchRequest, value_of({**REQUEST, "type": "x", "data": {}}), None) == READ
