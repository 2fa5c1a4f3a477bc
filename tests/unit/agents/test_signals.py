"""Usage and feedback: what can be read and is allowed takes effect, within the tenant only."""

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from agents import patience
from agents.feedback import FeedbackAgent
from agents.guard import Guard
from agents.items import ItemsAgent
from agents.usage import UsageAgent
from retrieval.ingest import Ingest
from storage import Counts, StoreUnavailableError
from tests.unit.agents.conftest import NOON, delivery
from tests.unit.tokens import bearer, jwk, token, write_keys
from topics.auth import Tokens
from topics.jwks import KeyFile

AGENTS = {"context.usage": UsageAgent, "feedback": FeedbackAgent}
ONCE = Counts(use_count=1, last_used_at=NOON)


def usage(event_id, *memory_ids, tenant="acme", headers=(), **fields):
    named = {"event_id": event_id, "tenant_id": tenant, "session_id": "s", "request_id": "r"}
    event = named | {"memory_ids": memory_ids} | fields
    return delivery(event, topic="memory.context.usage", headers=headers)


def feedback(event_id, memory_id=None, tenant="acme", headers=()):
    named = {"event_id": event_id, "tenant_id": tenant, "session_id": "s", "request_id": "r"}
    event = named | {"quality_score": 0.9, "memory_id": memory_id}
    return delivery(event, topic="memory.feedback", headers=headers)


SENT = {"context.usage": usage, "feedback": feedback}


def metric(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def not_found():
    return metric("memstream_memories_not_found_total")


@pytest.fixture
async def remembered(store, dead_letters):
    """Remember a, b and c for acme, and a and theirs for umbrella."""
    named = [("acme", m) for m in "abc"] + [("umbrella", m) for m in ("a", "theirs")]
    items = [{"event_id": m, "tenant_id": t, "memory_id": m, "content": "cat"} for t, m in named]
    await ItemsAgent(Ingest(store, None), dead_letters)([delivery(item) for item in items])
    return store


@pytest.fixture
def counting(remembered, outcomes, dead_letters):
    return UsageAgent(remembered, outcomes, dead_letters)


@pytest.mark.requirement("SE-10")
async def test_a_batch_of_usage_is_counted_once_even_if_it_is_delivered_twice(
    counting, store, published
):
    batch = [usage("e1", "a", "b"), usage("e2", "a"), usage("e1", "a", "b")]
    await counting(batch)
    await counting(batch)
    assert await store.counts("acme", ["a", "b", "c"]) == {
        "a": Counts(use_count=2, last_used_at=NOON),
        "b": ONCE,
        "c": Counts(),
    }
    assert published.messages == []


@pytest.mark.requirement("SE-10")
async def test_when_it_was_used_is_what_the_event_says(counting, store):
    await counting([usage("e", "a", occurred_at="2026-11-15T13:00:00+01:00")])
    assert (await store.counts("acme", ["a"]))["a"].last_used_at == NOON.replace(day=15)


@pytest.mark.requirement("SE-1", "SE-10")
async def test_what_another_tenant_has_is_not_used_and_is_counted(counting, store, published):
    before = not_found()
    forged = usage("e", "a", "theirs", "nowhere")
    await counting([forged])
    await counting([forged])
    assert not_found() - before == 2
    assert await store.counts("acme", ["a"]) == {"a": ONCE}
    assert await store.counts("umbrella", ["a", "theirs"]) == {"a": Counts(), "theirs": Counts()}
    assert published.messages == []


@pytest.mark.requirement("SE-1")
async def test_feedback_on_what_another_tenant_has_is_counted_and_changes_nothing(
    remembered, outcomes, dead_letters, published
):
    before, rows = not_found(), remembered._database.execute("SELECT * FROM memories").fetchall()
    judged = [("e1", "a"), ("e2", "theirs"), ("e3", None), ("e4", "theirs"), ("e5", "nowhere")]
    theirs = feedback("e6", "theirs", tenant="umbrella")
    await FeedbackAgent(remembered, outcomes, dead_letters)(
        [*(feedback(*one) for one in judged), theirs]
    )
    assert not_found() - before == 3
    assert remembered._database.execute("SELECT * FROM memories").fetchall() == rows
    assert published.messages == []


@pytest.mark.parametrize("topic", AGENTS)
async def test_what_cannot_be_read_is_kept_with_the_reason_and_the_rest_is_taken(
    remembered, outcomes, dead_letters, published, topic
):
    handled = metric("memstream_messages_total", topic=f"memory.{topic}")
    name = f"memory.{topic}"
    broken = [
        delivery(b"{", topic=name),
        delivery(None, topic=name),
        delivery({"event_id": "e", "tenant_id": "acme"}, topic=name),
        delivery(SENT[topic]("k").value, topic=name, key=None),
    ]
    await AGENTS[topic](remembered, outcomes, dead_letters)([*broken, SENT[topic]("fine", "a")])
    kept = published.on("dead-letters")
    assert [value for _, _, value, _ in kept] == [letter.value for letter in broken]
    assert {headers["memstream-error-code"] for *_, headers in kept} == {b"invalid_request"}
    assert metric("memstream_messages_total", topic=name) - handled == 5
    if topic == "context.usage":
        assert await remembered.counts("acme", ["a"]) == {"a": ONCE}


async def test_one_event_that_always_fails_does_not_take_the_others_with_it(
    remembered, outcomes, dead_letters, published, monkeypatch
):
    counted = remembered.use

    async def picky(uses):
        if any("poison" in use.usage.memory_ids for use in uses):
            raise RuntimeError("cannot count this")
        return await counted(uses)

    monkeypatch.setattr(remembered, "use", picky)
    batch = [usage("e1", "a"), usage("e2", "poison", "a"), usage("e3", "b")]
    await UsageAgent(remembered, outcomes, dead_letters)(batch)
    assert await remembered.counts("acme", ["a", "b"]) == {"a": ONCE, "b": ONCE}
    ((_, _, value, headers),) = published.on("dead-letters")
    assert (value, headers["memstream-error-code"]) == (batch[1].value, b"internal")


@pytest.mark.parametrize("topic", AGENTS)
async def test_while_the_store_is_away_nothing_is_given_up(
    remembered, outcomes, dead_letters, published, monkeypatch, topic
):
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.001)
    method, before = {"context.usage": "use", "feedback": "counts"}[topic], not_found()
    working, away = getattr(remembered, method), iter([True, True, True])

    async def flaky(*arguments):
        if next(away, False):
            raise StoreUnavailableError("restarting")
        return await working(*arguments)

    monkeypatch.setattr(remembered, method, flaky)
    await AGENTS[topic](remembered, outcomes, dead_letters)([SENT[topic]("e", "theirs")])
    assert not_found() - before == 1
    assert published.messages == []


@pytest.fixture
def guard(tmp_path):
    keys = write_keys(tmp_path / "keys.json", jwk("hs"))
    return Guard(Tokens(KeyFile(keys), lambda: NOON))


@pytest.mark.requirement("SE-17", "SE-1")
@pytest.mark.parametrize("topic", AGENTS)
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([], "unauthorized"),
        (bearer(token(exp=1)), "unauthorized"),
        (bearer(token(tenant="umbrella")), "forbidden"),
        (bearer(token(tenant="umbrella", roles=["cross_tenant_read"])), "forbidden"),
    ],
)
async def test_a_signal_that_its_token_does_not_allow_is_kept_and_not_taken(
    remembered, outcomes, dead_letters, published, guard, topic, headers, code
):
    refusals = metric("memstream_refusals_total", code=code)
    before = not_found()
    forged = SENT[topic]("forged", "a", headers=headers)
    mine = SENT[topic]("mine", "b", headers=bearer(token(layers=[])))
    with capture_logs() as logs:
        await AGENTS[topic](remembered, outcomes, dead_letters, guard)([forged, mine])
    assert metric("memstream_refusals_total", code=code) == refusals + 1
    (audit,) = [line for line in logs if line["event"] == "refused"]
    assert (audit["code"], audit["id"], audit["tenant_id"]) == (code, "forged", "acme")
    ((_, _, value, kept),) = published.on("dead-letters")
    assert (value, kept["memstream-error-code"]) == (forged.value, code.encode())
    assert kept.get("authorization", b"redacted") == b"redacted"
    assert not_found() == before
    counts = await remembered.counts("acme", ["a", "b"])
    assert counts == {"a": Counts(), "b": ONCE if topic == "context.usage" else Counts()}
