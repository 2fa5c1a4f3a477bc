"""What the client writes: memories and signals, each with its key, exactly once a call."""

from datetime import UTC, datetime

import pytest
from memstream_client import Item, MemstreamClient

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
async def writer(broker):
    numbers = iter(range(1000))
    async with MemstreamClient(
        broker,
        tenant="acme",
        session="s",
        token="t",
        traceparent="00-1-2-01",
        topic_prefix="test.",
        new_id=lambda: f"id-{next(numbers)}",
        clock=lambda: NOON,
    ) as writer:
        yield writer


SIGNALS = {
    "context.usage": (
        lambda writer: writer.use("r", ["a", "b"], quality_score=0.5),
        {"request_id": "r", "memory_ids": ["a", "b"], "quality_score": 0.5},
    ),
    "feedback": (
        lambda writer: writer.feedback("r", 0.9, memory_id="a"),
        {"request_id": "r", "memory_id": "a", "quality_score": 0.9},
    ),
    "query.refinements": (
        lambda writer: writer.refine("r", "dog", new_request_id="r2"),
        {"request_id": "r", "new_query": "dog", "new_request_id": "r2"},
    ),
    "session.abandonments": (lambda writer: writer.abandon(), {}),
}


async def test_signals_carry_ids_time_and_headers(writer, answering):
    for number, (topic, (tell, expected)) in enumerate(SIGNALS.items()):
        await tell(writer)
        async with answering(topic) as service:
            message, told = await service.next()
        named = {"event_id": f"id-{number}", "tenant_id": "acme", "session_id": "s"}
        assert told == {**named, "occurred_at": "2026-11-16T12:00:00Z", **expected}
        assert message.key == b"acme/s"
        headers = {"authorization": b"Bearer t", "traceparent": b"00-1-2-01"}
        assert dict(message.headers) == headers


async def test_a_memory_is_written_and_deleted_under_one_key(writer, answering):
    memory_id = await writer.remember("a cat", layer="team", session_id="talk", position=3)
    await writer.forget(memory_id, session_id="talk")
    await writer.remember("a dog", memory_id="rex", event_id="e")
    await writer.forget("rex")
    async with answering("items") as service:
        read = [await service.next() for _ in range(4)]
    of = {
        memory: [(message.key, told) for message, told in read if told["memory_id"] == memory]
        for memory in (memory_id, "rex")
    }
    assert [(key, told["op"]) for key, told in of[memory_id]] == [
        (b"acme/talk", "upsert"),
        (b"acme/talk", "delete"),
    ]
    assert [(key, told["op"]) for key, told in of["rex"]] == [
        (b"acme/", "upsert"),
        (b"acme/", "delete"),
    ]
    written = of[memory_id][0][1]
    assert (written["content"], written["layer"], written["position"]) == ("a cat", "team", 3)
    assert written["created_at"] == "2026-11-16T12:00:00Z"
    assert of["rex"][0][1]["event_id"] == "e"


async def test_many_memories_of_any_tenant_are_counted_as_they_are_taken(writer, answering):
    items = [
        Item(event_id=f"e{n}", tenant_id=f"t{n % 3}", memory_id=f"m{n}", content="x")
        for n in range(1201)
    ]
    assert [taken async for taken in writer.remember_all(items)] == [500, 1000, 1201]
    async with answering("items") as service:
        keys = [(await service.next())[0].key for _ in items]
    assert sorted(keys) == sorted(f"t{n % 3}/".encode() for n in range(1201))
