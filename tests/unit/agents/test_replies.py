"""reply-to: an answer goes where its tenant may have it, and else to where everybody's go."""

import asyncio
import json

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from agents import desk
from agents.decompose import SlowLane
from agents.delivery import UnwritableError
from agents.guard import Guard
from agents.items import ItemsAgent
from agents.search import FastLane
from retrieval.ingest import Ingest
from retrieval.search import Search
from storage import StoreUnavailableError
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from tests.unit.tokens import bearer, jwk, token, write_keys
from topics.auth import Tokens
from topics.jwks import KeyFile

HERE = "acme.replies"
COMPLEX = "compare the cat and the dog across all teams"
ANSWERED = {"search": "search.results", "context": "context.assembled"}
ECHOED = {"correlation-id": b"\xffc", "traceparent": b"00-1-2-01"}


@pytest.fixture
def build(store, published, dead_letters, names):
    def build(guard=None):
        answering = answering_with(Search(store, WordEmbedder(), lambda: NOON), store)
        outgoing, by_topic = services(answering, published, dead_letters, names, guard)
        fast = {topic: FastLane(service, outgoing) for topic, service in by_topic.items()}
        slow = SlowLane(by_topic, outgoing)

        async def ask(kind, query="cat", reply_to=HERE, headers=(), key=b"acme/s", **fields):
            ids = {"request_id": "r1", "tenant_id": "acme", "session_id": "s", "query": query}
            topic = f"memory.{kind}.requests"
            sent = [*ECHOED.items(), ("reply-to", reply_to.encode()), *headers]
            await fast[topic]([delivery(ids | fields, topic=topic, headers=sent, key=key)])
            for over in published.on("internal.decompositions"):
                topic, key, value, headers = over
                await slow(delivery(value, topic=topic, key=key, headers=headers.items()))

        return ask

    return build


@pytest.fixture
async def ask(build, store):
    await store.override("acme", {"reply_topics": [HERE, "acme.app.*", "acme.missing"]})
    return build()


def answers(published, topic):
    return [
        (json.loads(value), headers) for to, _, value, headers in published.messages if to == topic
    ]


def usual(published, kind="search"):
    return answers(published, f"memory.{ANSWERED[kind]}")


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("query", ["cat", COMPLEX])
@pytest.mark.parametrize("topic", [HERE, "acme.app.1"])
async def test_an_answer_goes_where_it_is_wanted_by_both_routes(ask, published, kind, query, topic):
    await ask(kind, query, topic)
    assert bool(published.on("internal.decompositions")) == (query == COMPLEX)
    ((answer, headers),) = answers(published, topic)
    assert (answer["request_id"], answer["status"]) == ("r1", "ok")
    assert headers == ECHOED
    assert usual(published, kind) == []


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("query", ["cat", COMPLEX])
async def test_without_being_allowed_it_goes_nowhere_and_that_is_told(
    build, published, kind, query
):
    refusals = REGISTRY.get_sample_value("memstream_refusals_total", {"code": "forbidden"}) or 0
    with capture_logs() as logs:
        await build()(kind, query)
    ((answer, headers),) = usual(published, kind)
    assert answer["error"]["code"] == "forbidden"
    assert "reply-to" in answer["error"]["message"]
    assert headers == ECHOED
    topics = {topic for topic, *_ in published.messages}
    assert topics == {f"memory.{ANSWERED[kind]}", "memory.dead-letters"}
    (audit,) = [line for line in logs if line["event"] == "refused"]
    assert (audit["code"], audit["tenant_id"], audit["id"]) == ("forbidden", "acme", "r1")
    counted = REGISTRY.get_sample_value("memstream_refusals_total", {"code": "forbidden"})
    assert counted == refusals + 1


@pytest.mark.parametrize("topic", ["memory.items", "memory.context.usage", "__offsets"])
async def test_no_answer_ever_goes_to_a_topic_of_ours(build, store, published, topic):
    await store.override("acme", {"reply_topics": ["*"]})
    await build()("search", reply_to=topic)
    assert answers(published, topic) == []
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "forbidden"


async def test_where_answers_go_anyway_nobody_need_be_allowed(build, published):
    await build()("search", reply_to="memory.search.results")
    ((answer, _),) = usual(published)
    assert answer["status"] == "ok"


async def test_who_is_allowed_after_a_refusal_is_allowed_at_once(build, store, published):
    ask = build()
    await ask("search")
    await store.override("acme", {"reply_topics": [HERE]})
    await ask("search")
    ((refused, _),) = usual(published)
    assert refused["error"]["code"] == "forbidden"
    ((answer, _),) = answers(published, HERE)
    assert answer["status"] == "ok"


async def test_what_one_tenant_may_another_may_not(ask, published):
    await ask("search", tenant_id="umbrella")
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "forbidden"


async def test_a_topic_that_does_not_exist_is_told_before_anything_is_computed(ask, published):
    await ask("search", reply_to="acme.missing")
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "invalid_request"
    assert "no topic 'acme.missing'" in answer["error"]["message"]
    assert published.on("internal.decisions") == []


@pytest.mark.parametrize("fields", [{"limit": -1}, {"operation": "drop"}, {"key": None}])
async def test_an_error_goes_there_too(ask, published, fields):
    await ask("search", **fields)
    ((answer, headers),) = answers(published, HERE)
    assert answer["error"]["code"] == "invalid_request"
    assert headers == ECHOED
    assert usual(published) == []


async def test_of_a_broken_request_a_topic_that_is_not_allowed_is_ignored(ask, published):
    await ask("search", reply_to="umbrella.replies", limit=-1)
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("tenant", ["", None, 7])
async def test_the_store_is_asked_for_no_settings_of_nobody(ask, published, store, tenant):
    async def refuse(tenant_id):
        raise AssertionError(f"the settings of {tenant_id!r} were asked for")

    store.overrides = refuse
    await ask("search", tenant_id=tenant)
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "invalid_request"


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(
    ("headers", "fields", "where"),
    [
        (bearer(token()), {}, HERE),
        (bearer(token()), {"limit": -1}, HERE),
        ([], {}, None),
        ([], {"limit": -1}, None),
        (bearer(token(exp=1)), {"limit": -1}, None),
        (bearer(token(tenant="umbrella")), {}, None),
        (bearer(token(tenant="umbrella")), {"limit": -1}, None),
    ],
)
async def test_only_who_proves_to_be_the_tenant_gets_it_there(
    build, store, published, tmp_path, headers, fields, where
):
    await store.override("acme", {"reply_topics": [HERE]})
    keys = write_keys(tmp_path / "keys.json", jwk("hs"))
    await build(Guard(Tokens(KeyFile(keys), lambda: NOON)))("search", headers=headers, **fields)
    assert len(answers(published, HERE)) == (where is not None)
    assert len(usual(published)) == (where is None)


@pytest.mark.parametrize("failure", [UnwritableError("x"), None])
async def test_a_topic_that_takes_nothing_is_told_on_the_usual_one(
    ask, published, monkeypatch, failure
):
    monkeypatch.setattr(desk, "REPLY_PATIENCE_S", 0.01)
    publish = published.publish

    async def deaf(topic, **message):
        if topic == HERE:
            if failure is None:
                await asyncio.Event().wait()
            raise failure
        await publish(topic, **message)

    monkeypatch.setattr(published, "publish", deaf)
    await ask("search")
    ((answer, headers),) = usual(published)
    assert answer["error"]["code"] == "forbidden"
    assert headers == ECHOED


async def test_while_the_store_is_away_the_caller_is_told_on_the_usual_topic(
    ask, store, published, monkeypatch
):
    monkeypatch.setattr(desk, "PATIENCE_S", 0.01)

    async def away(_):
        raise StoreUnavailableError("gone")

    monkeypatch.setattr(store, "overrides", away)
    await ask("search")
    ((answer, _),) = usual(published)
    assert answer["error"]["code"] == "unavailable"


async def test_an_answer_too_large_for_its_topic_is_an_error_there(
    ask, store, published, dead_letters
):
    item = {"event_id": "e", "tenant_id": "acme", "memory_id": "m", "content": "cat " * 500}
    await ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)([delivery(item)])
    published.limited, published.largest = HERE, 1000
    await ask("search", threshold=0)
    ((answer, headers),) = answers(published, HERE)
    assert answer["error"]["code"] == "too_large"
    assert headers == ECHOED
