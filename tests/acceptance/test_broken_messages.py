"""Broken messages: each is kept, answered where it can be, and the next good one is served."""

import json
import uuid

import pytest

from tests.acceptance.service import wait_for

GOOD = {"request_id": "broken", "tenant_id": "acme", "session_id": "s", "query": "cat"}
CLOUD = {"specversion": "1.0", "source": "/test", "type": "search", "id": "broken"}

# kind: value, key, headers, code of the dead letter, whether its sender can be answered
BROKEN = {
    "not JSON": (b"hello", b"acme/s", [], b"invalid_request", False),
    "wrong types": (GOOD | {"query": 5}, b"acme/s", [], b"invalid_request", True),
    "missing tenant": (
        {k: v for k, v in GOOD.items() if k != "tenant_id"},
        *(b"acme/s", [], b"invalid_request", True),
    ),
    "2 MB query": (GOOD | {"query": "x" * 2_000_000}, b"acme/s", [], b"too_large", True),
    "null value": (None, b"acme/s", [], b"invalid_request", False),
    "unknown operation": (GOOD | {"operation": "drop"}, b"acme/s", [], b"invalid_request", True),
    "negative limit": (GOOD | {"limit": -1}, b"acme/s", [], b"invalid_request", True),
    "bad UTF-8": (b'{"query": "\xff\xfe"}', b"acme/s", [], b"invalid_request", False),
    "wrong CloudEvent": (
        CLOUD | {"specversion": "7", "data": GOOD},
        b"acme/s",
        [("content-type", b"application/cloudevents+json")],
        b"invalid_request",
        True,
    ),
    "empty key": (GOOD, b"", [], b"invalid_request", True),
    "no key": (GOOD, None, [], b"invalid_request", True),
    "bad headers": (
        b"{",
        b"\xff\x00",
        [("ce_id", b"\xff"), ("x", None)],
        b"invalid_request",
        False,
    ),
    "deep nesting": (b"[" * 100_000, b"acme/s", [], b"invalid_request", False),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_request_is_kept_answered_and_survived(client, kind):
    value, key, headers, code, answerable = BROKEN[kind]
    request_id = f"broken {kind}"
    if isinstance(value, dict):
        value = json.loads(json.dumps(value).replace('"broken"', json.dumps(request_id)))
    client.publish("search.requests", value, key=key, headers=[*headers, ("case", kind.encode())])

    def kept():
        return [
            letter
            for letter in client.dead_letters()
            if dict(letter.headers()).get("case") == kind.encode()
        ]

    (letter,) = wait_for(kept, "the dead letter")
    about = dict(letter.headers())
    expected = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    assert letter.value() == expected
    assert letter.key() == key
    assert set(headers) <= set(letter.headers())
    assert about["memstream-error-code"] == code
    assert about["memstream-error-topic"] == b"memory.search.requests"
    assert about["memstream-error-message"]
    if answerable:
        result = client.result(request_id)
        assert result["status"] == "error"
        assert result["error"]["code"] == code.decode()
        assert result["results"] == []
    assert client.result(client.request("cat"))["status"] == "ok"


@pytest.mark.parametrize("value", [b"", b"\x00", b"{}", {"tenant_id": "acme"}, None, [1, 2]])
def test_a_broken_item_is_kept_and_survived(client, value):
    case = uuid.uuid4().bytes

    def kept():
        return [
            dict(one.headers())["memstream-error-topic"]
            for one in client.dead_letters()
            if dict(one.headers()).get("case") == case
        ]

    client.publish("items", value, headers=[("case", case)])
    assert wait_for(kept, "the dead letter") == [b"memory.items"]
    client.remember("after", "The kettle is descaled on Fridays", tenant="broken")
    client.search_until("when is the kettle descaled?", "after", tenant="broken")
