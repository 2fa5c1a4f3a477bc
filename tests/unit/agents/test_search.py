"""The search agent: every request gets one answer, and only its own tenant's memories."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import service as service_module
from agents.items import ItemsAgent
from agents.metrics import NOT_FOUND
from agents.search import FastLane
from models import SearchResult
from retrieval.embedding import EmbedderUnavailableError
from retrieval.ingest import Ingest
from retrieval.search import Search
from storage import Counts, StoreUnavailableError
from tests.unit.agents.conftest import (
    NOON,
    WordEmbedder,
    answering_with,
    delivery,
    services,
)

KEYS = {
    *("request_id", "tenant_id", "session_id", "status"),
    *("results", "degraded", "error", "completed_at"),
}
RESULT_KEYS = {
    *("memory_id", "layer", "scope", "kind", "content"),
    *("score", "similarity", "created_at", "metadata"),
}


def request(query="cat", **fields):
    return {
        "request_id": "r1",
        "tenant_id": "acme",
        "session_id": "s",
        "query": query,
    } | fields


def asked(value, **around):
    return delivery(value, topic="memory.search.requests", **around)


@pytest.fixture
def agent_for(store, published, dead_letters, names):
    def build(answering=None, embedder=None):
        search = Search(store, embedder or WordEmbedder(), lambda: NOON)
        answering = answering or answering_with(search, store)
        outgoing, by_topic = services(answering, published, dead_letters, names)
        return FastLane(by_topic["memory.search.requests"], outgoing)

    return build


@pytest.fixture
async def remembered(store, dead_letters):
    agent = ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)
    contents = {"a": "the cat sat", "b": "a dog ran", "c": "cat and dog"}
    await agent(
        [
            delivery(
                {"event_id": f"{t}{m}", "tenant_id": t, "memory_id": f"{t}-{m}", "content": content}
            )
            for t in ("acme", "umbrella")
            for m, content in contents.items()
        ]
    )


@pytest.mark.usefixtures("remembered")
async def test_the_nearest_memories_come_back_best_first(agent_for, published):
    headers = [("correlation-id", b"\x00c"), ("traceparent", b"00-a-b-01"), ("other", b"x")]
    await agent_for()([asked(request(limit=2), headers=headers)])
    ((topic, key, value, sent),) = published.on("search.results")
    assert (topic, key) == ("memory.search.results", b"acme/s")
    assert sent == {"correlation-id": b"\x00c", "traceparent": b"00-a-b-01"}
    result = SearchResult.model_validate_json(value)
    assert (result.status, result.error, result.degraded) == ("ok", None, False)
    assert [found.memory_id for found in result.results] == ["acme-a", "acme-c"]
    assert [found.score for found in result.results] == [61 / 61, 61 / 62]
    assert result.completed_at == datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.requirement("SE-1")
@pytest.mark.usefixtures("remembered")
async def test_only_memories_of_the_tenant_that_asks_come_back(agent_for, published):
    tenants = ("acme", "umbrella", "stranger", "%", "acme' --")
    await agent_for()(
        [asked(request(request_id=t, tenant_id=t, limit=100), key=b"acme/s") for t in tenants]
    )
    found = {
        answer["request_id"]: {memory["memory_id"].split("-")[0] for memory in answer["results"]}
        for answer in published.results()
    }
    assert found == {
        "acme": {"acme"},
        "umbrella": {"umbrella"},
        "stranger": set(),
        "%": set(),
        "acme' --": set(),
    }


@pytest.mark.usefixtures("remembered")
async def test_semantic_mode_scores_by_cosine_and_threshold_cuts(agent_for, published):
    await agent_for()([asked(request(mode="semantic", threshold=0.5))])
    ((answer),) = published.results()
    assert [memory["memory_id"] for memory in answer["results"]] == ["acme-a", "acme-c"]
    assert all(memory["score"] == memory["similarity"] for memory in answer["results"])


@pytest.mark.requirement("SE-1")
@pytest.mark.usefixtures("remembered")
async def test_get_returns_memories_by_id_but_never_another_tenants(agent_for, published):
    ids = ["acme-b", "umbrella-a", "acme-a"]
    before = NOT_FOUND._value.get()
    await agent_for()([asked(request("", operation="get", memory_ids=ids))])
    assert NOT_FOUND._value.get() - before == len(ids) - len(published.results()[0]["results"])
    (answer,) = published.results()
    found = [(memory["memory_id"], memory["score"]) for memory in answer["results"]]
    assert found == [("acme-b", 1.0), ("acme-a", 1.0)]
    assert {memory["similarity"] for memory in answer["results"]} == {None}


@pytest.mark.requirement("SE-10")
@pytest.mark.usefixtures("remembered")
async def test_what_a_request_returned_is_counted_once_even_if_it_is_delivered_twice(
    agent_for, store
):
    agent, search = agent_for(), asked(request(limit=2))
    get = asked(request("", request_id="r2", operation="get", memory_ids=["acme-a"]))
    await agent([search])
    await agent([search, get])
    assert await store.counts("acme", ["acme-a", "acme-b", "acme-c"]) == {
        "acme-a": Counts(2, NOON),
        "acme-b": Counts(),
        "acme-c": Counts(1, NOON),
    }


async def test_a_broken_request_gets_an_error_result_and_is_kept(agent_for, published):
    await agent_for()([asked(request(limit=-1)), asked(request(request_id="ok"))])
    by_id = {answer["request_id"]: answer for answer in published.results()}
    assert by_id["r1"]["error"]["code"] == "invalid_request"
    assert "limit" in by_id["r1"]["error"]["message"]
    assert by_id["ok"]["status"] == "ok"
    assert len(published.on("dead-letters")) == 1


async def test_what_cannot_be_answered_to_anybody_is_only_kept(agent_for, published):
    await agent_for()(
        [asked(b"\xff"), asked(None), asked(b"[]", headers=[("correlation-id", b"c")])]
    )
    assert len(published.on("dead-letters")) == 3
    ((_, _, _, headers),) = published.on("search.results")
    assert headers == {"correlation-id": b"c"}


async def test_a_request_without_a_key_is_told_so(agent_for, published):
    await agent_for()([asked(request(), key=b"")])
    (answer,) = published.results()
    assert answer["request_id"] == "r1"
    assert answer["error"]["code"] == "invalid_request"


@pytest.mark.requirement("SE-12")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_without_an_embedder_words_are_enough(agent_for, published, store, mode):
    answering = answering_with(Search(store, None, lambda: NOON), store)
    await agent_for(answering)([asked(request(query="cats", mode=mode))])
    (answer,) = published.results()
    assert {found["memory_id"] for found in answer["results"]} == {"acme-a", "acme-c"}
    assert {found["similarity"] for found in answer["results"]} == {None}


class Failing:
    """Something is wrong before a route is found."""

    def __init__(self, error):
        self.error = error

    async def route(self, request):
        raise self.error

    async def count_references(self, result):
        assert result.results == ()


async def test_a_bug_is_an_internal_error_and_the_request_is_kept(agent_for, published):
    await agent_for(Failing(ZeroDivisionError("secret detail")))([asked(request())])
    (answer,) = published.results()
    assert answer["error"]["code"] == "internal"
    assert "secret detail" not in answer["error"]["message"]
    ((_, _, _, headers),) = published.on("dead-letters")
    assert b"secret detail" in headers["memstream-error-message"]


@pytest.mark.parametrize("away", [StoreUnavailableError("gone"), EmbedderUnavailableError("gone")])
async def test_a_part_that_stays_away_is_unavailable(agent_for, published, monkeypatch, away):
    monkeypatch.setattr(service_module, "PATIENCE_S", 0.05)
    await agent_for(Failing(away))([asked(request())])
    (answer,) = published.results()
    assert answer["error"]["code"] == "unavailable"


@pytest.mark.usefixtures("remembered")
async def test_results_larger_than_the_broker_takes_become_an_error(agent_for, published):
    published.largest = 400
    await agent_for()([asked(request())])
    (answer,) = published.results()
    assert answer["error"]["code"] == "too_large"


@pytest.mark.requirement("TJ-2")
@pytest.mark.usefixtures("remembered")
@given(
    value=st.one_of(
        st.binary(max_size=50),
        st.fixed_dictionaries(
            {"request_id": st.just("r"), "tenant_id": st.sampled_from(["acme", "", 3])},
            optional={
                "session_id": st.just("s"),
                "query": st.text(max_size=20),
                "mode": st.sampled_from(["hybrid", "semantic", "keyword", "psychic"]),
                "limit": st.integers(-1, 200),
                "operation": st.sampled_from(["search", "recall", "get"]),
            },
        ),
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_answer_has_the_same_shape(agent_for, published, value):
    published.messages.clear()
    await agent_for()([asked(value)])
    answers = published.results()
    assert len(answers) + len(published.on("dead-letters")) >= 1
    for answer in answers:
        assert set(answer) == KEYS
        assert (answer["error"] is None) == (answer["status"] == "ok")
        for memory in answer["results"]:
            assert set(memory) == RESULT_KEYS
            assert 0 <= memory["score"] <= 1


@pytest.mark.usefixtures("remembered")
async def test_a_request_of_so_long_ago_that_it_may_have_been_served_is_refused(
    agent_for, published, store
):
    old = replace(asked(request()), at=NOON - timedelta(days=7, seconds=1))
    await agent_for()([old])
    (result,) = published.results()
    assert (result["status"], result["error"]["code"]) == ("error", "unavailable")
    assert "7 days" in result["error"]["message"]
    ((_, _, value, headers),) = published.on("dead-letters")
    assert (value, headers["memstream-error-code"]) == (old.value, b"late")
    assert published.on("internal.decisions") == []
    assert (await store.counts("acme", ["acme-a"]))["acme-a"] == Counts()
    await agent_for()([replace(old, at=NOON - timedelta(days=7))])
    assert published.results()[1]["status"] == "ok"
