"""What is too large for the broker is neither lost nor in the way of anything."""

import json

import pytest

from agents.dead_letters import KEPT_BYTES, KEPT_KEY_BYTES
from agents.items import ItemsAgent
from agents.search import FastLane
from retrieval.ingest import Ingest
from retrieval.search import Search
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from topics.dead_letters import DeadLetter

LIMIT = 200_000


@pytest.mark.parametrize(
    ("value", "key", "headers"),
    [
        (b"{" + b"x" * LIMIT, b"acme/s", [("case", b"1")]),
        (b"{", b"k" * LIMIT, [("case", b"1")]),
        (None, b"acme/s", [("case", b"1"), ("long", b"x" * LIMIT)]),
        (b"{", None, [("case", b"1"), *(("many", b"x" * 1000) for _ in range(LIMIT // 1000))]),
    ],
)
async def test_of_a_message_too_large_to_be_kept_the_beginning_is_and_where_the_rest_is(
    store, dead_letters, published, value, key, headers
):
    published.limited, published.largest = "dead-letters", LIMIT
    broken = delivery(value, key=key, headers=headers, offset=7)
    good = {"event_id": "e", "tenant_id": "acme", "memory_id": "m", "content": "cat"}
    await ItemsAgent(Ingest(store, None), dead_letters)([broken, delivery(good)])
    ((_, kept_key, kept_value, kept),) = published.on("dead-letters")
    assert kept["case"] == b"1"
    assert kept_value == (value and value[:KEPT_BYTES])
    assert kept_key == (key and key[:KEPT_KEY_BYTES])
    letter = DeadLetter.read(0, kept_key, kept_value, kept.items())
    assert (letter.trimmed, letter.original_offset) == (len(value or b""), 7)
    assert letter.code == "invalid_request"
    assert list(await store.counts("acme", ["m"])) == ["m"]


async def test_what_cannot_be_told_of_an_answered_search_is_kept(
    store, published, dead_letters, names
):
    answering = answering_with(Search(store, WordEmbedder(), lambda: NOON), store)
    outgoing, by_topic = services(answering, published, dead_letters, names)
    published.limited, published.largest = "internal.decisions", 10
    asked = {"request_id": "r", "tenant_id": "acme", "session_id": "s", "query": "cat"}
    agent = FastLane(by_topic["memory.search.requests"], outgoing)
    await agent([delivery(asked, topic="memory.search.requests")])
    (result,) = published.results()
    assert result["status"] == "ok"
    ((_, _, value, kept),) = published.on("dead-letters")
    assert json.loads(value) == asked
    assert kept["memstream-error-code"] == b"too_large"
    assert b"internal.decisions" in kept["memstream-error-message"]
