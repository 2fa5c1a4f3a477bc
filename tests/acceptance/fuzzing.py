"""Messages as nobody should send them: good ones of every kind, mutated by a seeded chance."""

import json
import string
from datetime import UTC, datetime

LONE = "\\ud800"
BYTES = (b"", b"\x00", b"hello", b"{", b"[]", b"null", b"true", b"7", b'"text"', b"\xff\xfe{}")
ODD = (
    *(None, True, -1, 0, 10**400, 1e308, -1e308, 2**63, "", " ", "\u0000", "\u200b", "é" * 9000),
    *([], {}, [[]], {"a": {"b": []}}, "x" * 300, "a\nb", "\x1b[31m", "NaN", "2026-13-45", "null"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", -0.0, 0.5, ["user", 5], "\U0001f600"),
)
TOPICS = {
    "search.requests": {"query": "cat", "layers": ["user"], "limit": 3, "filters": {"a": 1}},
    "context.requests": {"query": "cat", "token_budget": 100},
    "items": {"memory_id": "m", "content": "a cat", "metadata": {"a": 1}, "importance": 5},
    "context.usage": {"memory_ids": ["m"], "quality_score": 0.5},
    "query.refinements": {"new_query": "dog"},
    "session.abandonments": {},
    "feedback": {"quality_score": 0.5},
    "internal.decisions": {"trajectory_id": "t", "query": "cat", "actions": []},
    "internal.decompositions": {"query": "cat"},
}
CLOUD = {"specversion": "1.0", "source": "/fuzz", "type": "fuzz"}
HEADERS = (
    ("content-type", b"application/cloudevents+json"),
    ("content-type", b"application/cloudevents+avro"),
    *(("ce_id", b"\xff"), ("ce_specversion", b"1.0"), ("ce_id", None), ("CE_ID", b"x")),
    *(("reply-to", b"memory.items"), ("reply-to", b"\xff"), ("reply-to", b"no such topic")),
    *(("authorization", b"Bearer x"), ("traceparent", b"\x00" * 300), ("", b""), ("é", b"x")),
    *(("memstream-origin", b"elsewhere"), ("memstream-replays", b"many")),
    *(("memstream-handed-over-at", b"noon"), ("memstream-error-code", b"mine")),
)
KEYS = (b"", None, b"\xff\x00", b"/", b"other/key", b"k" * 5000)


def good(chance, topic, case):
    """Return a message of a topic that is as it should be, all of whose names are its own."""
    named = {"tenant_id": f"t{chance.randrange(3)}", "session_id": f"s{chance.randrange(50)}"}
    named |= {"event_id": case, "request_id": case}
    return named | TOPICS[topic] | ({"memory_id": case} if topic == "items" else {})


def message(chance, topic, case):
    """Return a value, a key and headers; about one in six is good."""
    fields, headers, key = good(chance, topic, case), [], b"tenant/session"
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        fields = _mutated(chance, fields)
    if chance.random() < 0.15:
        fields = {**CLOUD, "id": case, "data": fields}
        for _ in range(chance.choice((0, 1))):
            fields = _mutated(chance, fields)
    if chance.random() < 0.15:
        headers = chance.sample(HEADERS, chance.randint(1, 3))
    if chance.random() < 0.05:
        key = chance.choice(KEYS)
    value = json.dumps(fields).encode()
    if chance.random() < 0.25:
        value = _broken(chance, value)
    return value, key, headers


def _mutated(chance, fields):
    changed, name = dict(fields), chance.choice(sorted(fields) or ["a"])
    what = chance.randrange(6)
    if what == 0:
        changed.pop(name, None)
    elif what == 1:
        changed[_word(chance)] = chance.choice(ODD)
    elif what == 2 and name not in ("event_id", "request_id"):
        changed[name] = _word(chance)
    elif what == 3:
        changed[name] = {name: changed.get(name)}
    else:
        changed[name] = chance.choice(ODD)
    return changed


def _broken(chance, value):
    place = chance.randrange(len(value) or 1)
    return chance.choice(
        (
            lambda: None,
            lambda: chance.choice(BYTES),
            lambda: chance.randbytes(chance.randrange(200)),
            lambda: value[:place],
            lambda: value[:place] + chance.randbytes(1) + value[place + 1 :],
            lambda: value + value,
            lambda: value.replace(b'"cat"', b"NaN"),
            lambda: value.replace(b'"cat"', b"-Infinity"),
            lambda: value.replace(b"cat", LONE.encode()),
            lambda: value.replace(b"cat", b"\\u0000"),
            lambda: value[:-1] + b', "tenant_id": "other"}',
            lambda: value.replace(b'"cat"', b"[" * 3000 + b"]" * 3000),
            lambda: b"[" * 50_000,
            lambda: value.replace(b'"cat"', b"1" * 5000),
        )
    )()


def _word(chance):
    return "".join(chance.choices(string.printable, k=chance.randrange(1, 12)))


def now():
    return datetime.now(UTC)
