"""Broken messages: each is refused with one error that says why and whom to answer."""

import json
import pickle

import pytest

from models import Item, SearchRequest, SearchResult
from topics import MAX_VALUE_BYTES, DecodeError, SalvagedIds, check_key, decode

REQUEST = {"request_id": "r", "tenant_id": "t", "session_id": "s", "query": "tea"}
IDS = SalvagedIds(request_id="r", tenant_id="t", session_id="s")
NOBODY = SalvagedIds()


def request(**changed):
    return json.dumps({**REQUEST, **changed}).encode()


def without(name):
    return json.dumps({key: value for key, value in REQUEST.items() if key != name}).encode()


def refused(value, headers=None, model=SearchRequest):
    with pytest.raises(DecodeError) as caught:
        decode(model, value, headers)
    return caught.value


BROKEN = {
    "not JSON": (b"tea, please", "invalid_request", NOBODY, "should be a JSON object"),
    "wrong types": (request(limit="10"), "invalid_request", IDS, 'limit: got "10"; input should'),
    "missing tenant": (
        without("tenant_id"),
        "invalid_request",
        SalvagedIds(request_id="r", session_id="s"),
        "tenant_id: missing",
    ),
    "2 MB query": (request(query="x" * 2_000_000), "too_large", IDS, "at most 1048576"),
    "null value": (None, "invalid_request", NOBODY, "got null"),
    "unknown operation": (
        request(operation="zap"),
        "invalid_request",
        IDS,
        "operation: got \"zap\"; input should be 'search', 'recall' or 'get'",
    ),
    "negative limit": (request(limit=-1), "invalid_request", IDS, "limit: got -1; input should be"),
    "bad UTF-8": (
        request().replace(b"tea", b"th\xe9"),
        "invalid_request",
        IDS,
        "is not UTF-8",
    ),
    "empty": (b"", "invalid_request", NOBODY, "got nothing"),
    "not an object": (b"[1]", "invalid_request", NOBODY, "got an array"),
    "a number": (b"1", "invalid_request", NOBODY, "got a number"),
    "deep arrays": (b"[" * 100_000, "invalid_request", NOBODY, "nested too deeply"),
    "deep objects": (b'{"a":' * 400 + b"1" + b"}" * 400, "invalid_request", NOBODY, "value: "),
    "duplicate keys": (b'{"limit":1,"limit":2}', "invalid_request", NOBODY, 'key "limit"'),
    "duplicate keys inside": (
        request(filters=0).replace(b": 0}", b': {"a": 1, "a": 2}}'),
        "invalid_request",
        IDS,
        'duplicate key "a"',
    ),
    "huge integer": (
        request(limit=0).replace(b": 0}", b": " + b"9" * 5_000 + b"}"),
        "invalid_request",
        NOBODY,
        "too many digits",
    ),
    "big integer": (request(limit=10**40), "invalid_request", IDS, "limit: got 1000000"),
    "NaN": (request(threshold=float("nan")), "invalid_request", IDS, "NaN is not a JSON number"),
    "infinity": (request(threshold=0).replace(b": 0}", b": 1e999}"), "invalid_request", IDS, "fin"),
    "lone surrogate": (request(query="\ud800"), "invalid_request", IDS, "surrogate pair"),
    "NUL in query": (request(query="a\x00"), "invalid_request", IDS, r"not contain U+0000"),
    "control character": (
        request(tenant_id="a\nb"),
        "invalid_request",
        SalvagedIds(request_id="r", session_id="s"),
        'tenant_id: got "a\\nb"; string should have no control characters',
    ),
    "long query": (request(query="x" * 8_193), "too_large", IDS, "at most 8192 characters"),
    "large filters": (
        request(filters={"a": "x" * 20_000}),
        "too_large",
        IDS,
        "JSON should have at most 16384 bytes, not 20008",
    ),
    "many ids": (
        request(operation="get", memory_ids=["m"] * 101),
        "too_large",
        IDS,
        "should have at most 100 entries",
    ),
    "long and wrong": (request(query="x" * 8_193, limit=0), "invalid_request", IDS, "limit"),
    "no layers": (request(layers=[]), "invalid_request", IDS, "should have at least 1 entries"),
    "wrong layer": (request(layers=["user", "attic"]), "invalid_request", IDS, "layers[1]: got"),
    "missing query": (without("query"), "invalid_request", IDS, "query: missing or empty"),
    "naive time": (
        request(requested_at="2026-11-16T09:30:00"),
        "invalid_request",
        IDS,
        "with its offset",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_message_is_refused(kind):
    value, code, ids, complaint = BROKEN[kind]
    error = refused(value)
    assert (error.code, error.ids) == (code, ids)
    assert complaint in error.message
    assert "pydantic" not in error.message


@pytest.mark.parametrize("key", [None, b""])
def test_a_message_without_a_key_is_refused(key):
    with pytest.raises(DecodeError, match="should be tenant_id/session_id") as caught:
        check_key(key, IDS)
    assert (caught.value.code, caught.value.ids) == ("invalid_request", IDS)


def test_what_a_key_says_is_not_read():
    check_key(b"someone/else")


def test_what_was_got_is_shortened():
    line = refused(request(operation="z" * 500)).message
    assert len(line.partition("; ")[0]) <= len("operation: got ") + 100


def test_many_faults_take_few_lines():
    wrong = dict.fromkeys(SearchRequest.model_fields, 0.5)
    lines = refused(json.dumps(wrong).encode()).message.splitlines()
    assert len(lines) == 6
    assert lines[-1].startswith("and ")


def test_a_wrong_entry_is_complained_of_once():
    assert len(refused(request(layers=["attic"])).message.splitlines()) == 1


def test_the_largest_item_within_its_limits_is_read():
    item = {"event_id": "e", "tenant_id": "t", "memory_id": "m", "content": "😀" * 65_536}
    value = json.dumps({**item, "metadata": {"a": "x" * 16_000}}).encode()
    assert len(value) > 780_000
    assert decode(Item, value, None).memory_id == "m"


def test_memstream_may_read_its_own_long_answers():
    answer = {
        "request_id": "r",
        "tenant_id": "t",
        "session_id": "s",
        "status": "error",
        "results": [],
        "degraded": False,
        "error": {"code": "internal", "message": "x" * MAX_VALUE_BYTES},
        "completed_at": "2026-11-16T09:30:00Z",
    }
    value = json.dumps(answer).encode()
    assert refused(value, model=SearchResult).code == "too_large"
    assert decode(SearchResult, value, own=True).request_id == "r"


def test_ids_of_a_monstrous_message_are_not_looked_for():
    assert refused(request(query="x" * 9_000_000)).ids == NOBODY


def test_a_damaged_id_is_not_passed_on():
    value = request(session_id="caf#").replace(b"#", b"\xe9")
    assert refused(value).ids == SalvagedIds(request_id="r", tenant_id="t")


def test_the_error_survives_pickling():
    error = refused(request(limit=-1))
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.message, copy.ids) == (error.code, error.message, error.ids)
