"""The items agent: what can be stored is stored, what cannot is kept, nothing is dropped."""

import numpy as np
import pytest

from agents import patience
from agents.items import ItemsAgent
from retrieval.ingest import Ingest
from storage import Asked, Embedding, Filter, Sought, StoreUnavailableError
from tests.unit.agents.conftest import NOON, WordEmbedder, delivery


def item(memory_id, content="the cat sat", **fields):
    return {
        "event_id": f"e-{memory_id}",
        "tenant_id": "acme",
        "memory_id": memory_id,
        "content": content,
    } | fields


@pytest.fixture
def agent(store, dead_letters):
    return ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)


async def stored(store, query="cat"):
    (vector,) = await WordEmbedder().embed([query])
    sought = Sought(Asked(()), Embedding("words", vector), best=9)
    hits = (await store.find("acme", sought, Filter(at=NOON))).hits
    return {hit.memory_id for hit in hits}


async def test_a_batch_is_stored(agent, store, published):
    await agent([delivery(item("a")), delivery(item("b"))])
    assert await stored(store) == {"a", "b"}
    assert published.messages == []


async def test_what_cannot_be_read_is_kept_with_the_reason_and_the_rest_is_stored(
    agent, store, published
):
    await agent(
        [
            delivery(b"{", offset=7, headers=[("trace", b"\xff\x00")]),
            delivery(None, key=b""),
            delivery(item("fine")),
            delivery(item("keyless"), key=None),
        ]
    )
    assert await stored(store) == {"fine"}
    (topic, key, value, headers), null, keyless = published.messages
    assert (topic, key, value) == ("memory.dead-letters", b"acme/s", b"{")
    assert headers["trace"] == b"\xff\x00"
    assert headers["memstream-error-code"] == b"invalid_request"
    assert headers["memstream-error-topic"] == b"memory.items"
    assert headers["memstream-error-offset"] == b"7"
    assert null[1:3] == (b"", None)
    assert b"tenant_id/session_id" in keyless[3]["memstream-error-message"]


async def test_one_item_that_always_fails_does_not_take_the_others_with_it(
    store, dead_letters, published
):
    class Picky(WordEmbedder):
        async def embed(self, texts):
            if any("poison" in text for text in texts):
                raise RuntimeError("cannot embed this")
            return await super().embed(texts)

    agent = ItemsAgent(Ingest(store, Picky()), dead_letters)
    await agent([delivery(item("a")), delivery(item("p", "poison")), delivery(item("b"))])
    assert await stored(store) == {"a", "b"}
    ((_, _, _, headers),) = published.messages
    assert headers["memstream-error-code"] == b"internal"
    assert b"cannot embed this" in headers["memstream-error-message"]


async def test_while_the_store_is_away_nothing_is_given_up(store, dead_letters, monkeypatch):
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.001)
    away = iter([True, True, True])

    class Flaky(Ingest):
        async def store(self, received):
            if next(away, False):
                raise StoreUnavailableError("restarting")
            await super().store(received)

    await ItemsAgent(Flaky(store, WordEmbedder()), dead_letters)([delivery(item("a"))])
    assert await stored(store) == {"a"}


async def test_without_an_embedder_memories_are_stored_all_the_same(store, dead_letters):
    await ItemsAgent(Ingest(store, None), dead_letters)([delivery(item("a"))])
    assert await stored(store) == set()
    rows = store._database.execute("SELECT memory_id, embedding FROM memories").fetchall()
    assert rows == [("a", None)]


async def test_a_batch_of_writes_and_deletes_embeds_only_the_writes(agent, store):
    await agent([delivery(item("a")), delivery(item("b"))])
    gone = {"event_id": "x", "tenant_id": "acme", "memory_id": "a", "op": "delete"}
    await agent([delivery(gone), delivery(item("c", "cat cat"))])
    assert await stored(store) == {"b", "c"}
    assert np.isfinite(await WordEmbedder().embed(["", "cat"])).all()
