"""The AsyncAPI document and the JSON Schemas: up to date, valid, and true of real messages."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from topics import CONTRACT, Topic, encode
from topics.generate import FOLDER, generated, on_disk, write
from topics.schemas import message_schemas, schema_file

ASYNCAPI = json.loads(Path(__file__).with_name("asyncapi-3.0.0.schema.json").read_text("utf-8"))
DOCUMENT = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text("utf-8"))
CARRYING = [topic for topic in CONTRACT if topic.value.carries]
REQUEST = {"request_id": "r", "tenant_id": "t", "session_id": "s"}
ITEM = {"event_id": "e", "tenant_id": "t", "memory_id": "m"}

each_topic = pytest.mark.parametrize("topic", CARRYING, ids=lambda topic: topic.name)


def schema_of(topic):
    return message_schemas()[schema_file(topic.value)]


def test_the_files_are_what_the_models_say():
    assert on_disk() == generated(), "run `python -m topics.generate`"


def test_writing_makes_them_so_and_removes_what_is_stale(tmp_path):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "gone.json").write_text("{}")
    write(tmp_path)
    assert on_disk(tmp_path) == generated()


def test_the_document_is_asyncapi_3():
    assert DOCUMENT["asyncapi"] == "3.0.0"
    errors = [error.message for error in Draft7Validator(ASYNCAPI).iter_errors(DOCUMENT)]
    assert errors == []


def test_the_official_schema_would_notice():
    broken = {**DOCUMENT, "operations": {"x": {"action": "shout"}}}
    assert list(Draft7Validator(ASYNCAPI).iter_errors(broken))


def test_every_topic_is_a_channel_with_an_operation():
    addresses = {channel["address"] for channel in DOCUMENT["channels"].values()}
    assert addresses == {f"memory.{topic.value.suffix}" for topic in CONTRACT}
    used = {operation["channel"]["$ref"] for operation in DOCUMENT["operations"].values()}
    assert used == {f"#/channels/{name}" for name in DOCUMENT["channels"]}


def test_every_reference_leads_somewhere():
    for message in DOCUMENT["components"]["messages"].values():
        if "payload" in message:
            assert (FOLDER / message["payload"]["$ref"]).is_file()
    for channel in DOCUMENT["channels"].values():
        for message in channel["messages"].values():
            name = message["$ref"].removeprefix("#/components/messages/")
            assert name in DOCUMENT["components"]["messages"]


def test_memstream_sends_what_it_writes_and_receives_the_rest():
    operations = DOCUMENT["operations"]
    assert operations["receiveSearchRequests"]["action"] == "receive"
    assert operations["sendSearchResults"]["action"] == "send"
    assert "sendSearchRequests" not in operations
    reply = operations["receiveSearchRequests"]["reply"]["channel"]["$ref"]
    assert reply == "#/channels/searchResults"


@each_topic
def test_a_schema_is_json_schema_2020_12(topic):
    Draft202012Validator.check_schema(schema_of(topic))


@each_topic
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_messages_fit_their_schema(topic, any_record, data):
    record = data.draw(any_record(topic.value.carries))
    Draft202012Validator(schema_of(topic)).validate(json.loads(encode(record)))


@pytest.mark.parametrize(
    ("topic", "message", "valid"),
    [
        (Topic.SEARCH_REQUESTS, {**REQUEST, "query": "tea"}, True),
        (Topic.SEARCH_REQUESTS, REQUEST, False),
        (Topic.SEARCH_REQUESTS, {**REQUEST, "query": ""}, False),
        (Topic.SEARCH_REQUESTS, {**REQUEST, "operation": "get", "memory_ids": ["m"]}, True),
        (Topic.SEARCH_REQUESTS, {**REQUEST, "operation": "get"}, False),
        (Topic.SEARCH_REQUESTS, {**REQUEST, "query": "tea", "limit": 101}, False),
        (Topic.SEARCH_REQUESTS, {**REQUEST, "query": "tea", "shoe_size": 43}, True),
        (Topic.ITEMS, {**ITEM, "content": "likes tea"}, True),
        (Topic.ITEMS, ITEM, False),
        (Topic.ITEMS, {**ITEM, "op": "delete"}, True),
        (Topic.ITEMS, {**ITEM, "content": "tea", "tenant_id": "a\x00b"}, False),
        (Topic.SEARCH_RESULTS, REQUEST, False),
    ],
)
def test_a_schema_tells_right_from_wrong(topic, message, valid):
    assert Draft202012Validator(schema_of(topic)).is_valid(message) is valid
