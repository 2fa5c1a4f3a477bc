"""The client for Python services says what the contract says, and nothing else."""

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from memstream_client import ErrorCode, errors
from memstream_client.caller import Caller
from memstream_client.client import MemstreamClient
from memstream_client.events import MemoryOptions, SignalOptions
from memstream_client.messages import DEFAULT_PREFIX, TOPICS, message
from memstream_client.records import checked
from memstream_client.requests import ContextOptions, GetOptions, SearchOptions

import models
from topics import Topic, decode
from topics.generate import FOLDER
from topics.keys import event_key
from topics.names import DEFAULT_PREFIX as SERVICE_PREFIX

OURS = {topic.value.suffix: topic.value for topic in Topic}
WRITTEN = {record: name for record, name in TOPICS.items() if OURS[name].writer != "memstream"}
each_record = pytest.mark.parametrize("record", TOPICS, ids=lambda record: record.__name__)
each_written = pytest.mark.parametrize("record", WRITTEN, ids=lambda record: record.__name__)

# What documents, or says in JSON Schema what a validator says in Python (tested below).
SAID_OTHERWISE = {"description", "title", "if", "then", "else", "$schema"}


def schema_of(name):
    return json.loads((Path(FOLDER) / "schemas" / f"{name}.json").read_text())


def bare(schema):
    if isinstance(schema, list):
        return [bare(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: bare(value) for key, value in entry.items()}
        if name in ("properties", "$defs")
        else bare(entry)
        for name, entry in schema.items()
        if name not in SAID_OTHERWISE or name == "properties"
    }


@each_record
def test_a_record_has_the_fields_types_and_limits_of_its_schema(record):
    name = TOPICS[record]
    mode = "validation" if record in WRITTEN else "serialization"
    assert bare(record.model_json_schema(mode=mode)) == bare(schema_of(name))


@each_record
def test_a_record_is_called_and_documented_as_in_the_service(record):
    served = OURS[TOPICS[record]].carries
    assert record.__name__ == served.__name__
    assert list(record.model_fields) == list(served.model_fields)
    defaults = {name: field.default for name, field in served.model_fields.items()}
    assert {name: field.default for name, field in record.model_fields.items()} == defaults
    assert all(field.description for field in record.model_fields.values())


def test_every_topic_that_services_write_or_read_is_there():
    read_by_services = {"search.results", "context.assembled"}
    written = {topic.suffix for topic in OURS.values() if topic.writer != "memstream"}
    assert set(TOPICS.values()) == written | read_by_services
    assert DEFAULT_PREFIX == SERVICE_PREFIX


@each_written
@settings(max_examples=50)
@given(data=st.data())
def test_whatever_the_service_understands_can_be_said_and_is_valid(record, any_record, data):
    name = TOPICS[record]
    meant = data.draw(any_record(OURS[name].carries))
    said = message(checked(record, meant.model_dump()), DEFAULT_PREFIX, Caller("t", "s").headers())
    Draft202012Validator(schema_of(name)).validate(json.loads(said.value))
    assert said.topic == DEFAULT_PREFIX + name
    assert said.key == event_key(meant.tenant_id, meant.session_id)
    assert decode(type(meant), said.value) == meant


@pytest.mark.parametrize("model", ["SearchResult", "ContextAssembled"])
@settings(max_examples=50)
@given(data=st.data())
def test_whatever_is_answered_can_be_read(model, any_record, data):
    answer = data.draw(any_record(getattr(models, model)))
    record = next(record for record in TOPICS if record.__name__ == model)
    assert record.model_validate_json(answer.model_dump_json()).model_dump() == answer.model_dump()


FILLED_IN = {"request_id", "tenant_id", "session_id", "query", "operation", "memory_ids"}


def test_every_parameter_of_the_contract_can_be_given():
    search = set(models.SearchRequest.model_fields) - FILLED_IN
    assert set(SearchOptions.__annotations__) == search | {"request_id", "timeout"}
    context = set(models.ContextRequest.model_fields) - FILLED_IN - {"token_budget"}
    assert set(ContextOptions.__annotations__) == context | {"request_id", "timeout"}
    memory = set(models.Item.model_fields) - {"tenant_id", "op", "content"}
    assert set(MemoryOptions.__annotations__) == memory
    assert set(SignalOptions.__annotations__) == {"event_id", "occurred_at"}
    assert set(GetOptions.__annotations__) < set(SearchOptions.__annotations__)


def test_every_error_code_has_an_exception():
    kinds = errors.RequestError.__subclasses__()
    assert (
        {kind.code for kind in kinds} == set(get_args(ErrorCode)) == set(get_args(models.ErrorCode))
    )


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda client: client.search(""), "invalid_request: query: missing"),
        (lambda client: client.search("x", limit=0), "limit: got 0; input should be greater"),
        (lambda client: client.search("x", mode="psychic"), "mode: got 'psychic'"),
        (lambda client: client.search("x", layers=[]), "layers"),
        (lambda client: client.search("x" * 8193), "too_large: query"),
        (lambda client: client.search("\ud800"), "query"),
        (lambda client: client.search("x", filters={"a": "\ud800"}), "surrogates"),
        (lambda client: client.get([]), "memory_ids"),
        (lambda client: client.get(["m"] * 101), "too_large: memory_ids"),
        (lambda client: client.context("x", token_budget=0), "token_budget: got 0"),
        (lambda client: client.remember("x", layer="attic"), "layer: got 'attic'"),
        (lambda client: client.remember(""), "content"),
        (lambda client: client.remember("x", metadata={"a": "b" * 20_000}), "16384 bytes"),
        (lambda client: client.forget(""), "memory_id: got ''"),
        (lambda client: client.use("r", ["m"], 2), "quality_score: got 2"),
        (lambda client: client.feedback("r", -1), "quality_score: got -1"),
        (lambda client: client.refine("r", ""), "new_query"),
        (lambda client: client.abandon("\n"), "no control characters"),
        (lambda client: client.bind(session="").search("x"), "session_id: got ''"),
        (lambda client: client.bind(tenant="").search("x"), "tenant_id: got ''"),
    ],
)
async def test_what_the_service_would_refuse_is_refused_before_it_is_sent(call, complaint):
    client = MemstreamClient("nowhere.invalid:9092", tenant="t")
    with pytest.raises(errors.RequestError) as refused:
        await call(client)
    assert complaint in str(refused.value)
    assert refused.value.answer is None


async def test_a_parameter_that_does_not_exist_is_a_mistake_in_the_program():
    client = MemstreamClient("nowhere.invalid:9092", tenant="t")
    for call in (client.search, client.recall, client.context, client.remember):
        with pytest.raises(TypeError, match="colour"):
            await call("x", colour="red")


async def test_a_client_that_is_not_open_says_how_to_open_it():
    with pytest.raises(errors.MemstreamError, match="async with"):
        await MemstreamClient("nowhere.invalid:9092", tenant="t").search("x")
