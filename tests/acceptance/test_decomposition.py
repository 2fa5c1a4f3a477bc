"""From outside: complex requests are taken apart, and nothing but the answer shows it."""

import json
import os
import time
from datetime import datetime

import pytest

from models import SearchResult
from tests.acceptance.language_model import HELPFUL, language_model
from tests.acceptance.service import Client, running, wait_for
from tests.language_model import NONSENSE, Behaviour

SIMPLE = "what is the login endpoint"
COMPLEX = "Compare error handling patterns across all Platform Engineering teams"
TEAMS = {
    "api": "We retry failed calls three times and log the error with its request id",
    "web": "Errors are caught at the boundary and shown as a friendly page",
    "data": "A failed job goes to a queue where somebody looks at it the next morning",
    "mobile": "The app keeps what could not be sent and tries again with the network back",
}
TOPICS = (
    "search.results",
    "context.assembled",
    "context.usage",
    "dead-letters",
    "internal.decisions",
)
HANDLED = 'memstream_messages_total{topic="memory.context.usage"}'
BUDGET_S = 4.0
"""What hurried tenants give a request; reasoning alone may take 3 s of it."""
SLACK_S = 6.0
"""For Kafka, and for whatever else runs on this machine; without a limit a stall takes an hour."""
IN_FORCE_S = 1.1
"""A second later a tenant's own values are in force."""
ROUNDS = 17 if "MEMSTREAM_SOAK" in os.environ else 1
CHANCE = 326
"""A seed by which calls stall, fail and get nonsense before the breaker has seen enough of it."""
MIXED = 60
"""Requests a round."""


@pytest.fixture(scope="module")
def model():
    with language_model() as server:
        yield server


@pytest.fixture(scope="module")
def service(tmp_path_factory, parts, models, model):
    folder = tmp_path_factory.mktemp("service")
    # Routes are looked at: nothing may be tried out, however long the tests go on.
    still = {"learning_enabled": False}
    with running(folder, *parts, models=models, **model.settings, **still) as service:
        client = Client(service.runtime["broker"])
        for tenant in ("acme", "umbrella", "hurried"):
            remember(client, tenant)
        client.close()
        yield service


@pytest.fixture
def client(service, model):
    model.behave(HELPFUL)
    client = Client(service.runtime["broker"], TOPICS)
    yield client
    client.close()


def remember(client, tenant):
    for team, content in TEAMS.items():
        entities = {"org": "Platform Engineering", "team": team}
        fields = {"tenant": tenant, "layer": "team", "entities": entities}
        client.remember(f"{tenant}-{team}", content, **fields)
    client.remember(f"{tenant}-other", "Invoices go out monthly", tenant=tenant)
    client.remember(f"{tenant}-port", "The login endpoint listens on port 8443", tenant=tenant)
    client.search_until(SIMPLE, f"{tenant}-port", tenant=tenant)


def complex_requests(count):
    """Requests that no cache of answers knows."""
    return [f"{COMPLEX}, case {number} at {time.time_ns()}" for number in range(count)]


def hurry(service, tenant):
    service.command("tenant", "set", tenant, f"latency_budget_ms={int(1000 * BUDGET_S)}")
    time.sleep(IN_FORCE_S)


def shape(answer):
    """Keys and types, however deep."""
    if isinstance(answer, dict):
        return {key: shape(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [shape(value) for value in answer[:1]]
    return type(answer).__name__


def decision(client, request_id):
    return client.about(request_id, "internal.decisions")[0]


@pytest.mark.requirement("RT-1", "RT-2", "RT-5", "RX-2", "TJ-1", "TJ-2")
def test_a_complex_request_is_answered_like_any_other_with_every_team(client):
    simple, taken_apart = client.request(SIMPLE), client.request(COMPLEX)
    answers = [client.result(request_id) for request_id in (simple, taken_apart)]
    assert shape(answers[0]) == shape(answers[1])
    for answer in answers:
        assert (answer["status"], answer["degraded"], answer["error"]) == ("ok", False, None)
        text = json.dumps(answer).lower()
        assert not any(word in text for word in ("rlm", "route", "trajectory", "decompos"))
    found = {memory["memory_id"] for memory in answers[1]["results"]}
    assert found >= {f"acme-{team}" for team in TEAMS}
    assert decision(client, simple)["route"] == "standard"
    how = decision(client, taken_apart)
    assert (how["route"], how["fallback"], how["succeeded"]) == ("rlm", None, True)
    assert how["tokens_used"] > 0
    [drill] = [action for action in how["actions"] if action["kind"] == "DrillDown"]
    assert sorted(drill["params"]["children"]) == sorted(TEAMS)


@pytest.mark.requirement("RX-9", "SE-10")
@pytest.mark.parametrize(("query", "route"), [(SIMPLE, "standard"), (COMPLEX, "rlm")])
def test_a_context_keeps_its_budget_and_its_use_counts_once(service, client, query, route):
    ids = {"request_id": f"context-{route}", "tenant_id": "umbrella", "session_id": "s"}
    before = service.counts("umbrella", *(f"umbrella-{name}" for name in (*TEAMS, "port", "other")))
    handled = service.metric(HANDLED)
    for _ in range(2):
        request = {**ids, "query": query, "token_budget": 40}
        client.publish("context.requests", request, key=b"umbrella/s")
    answer, again = client.about(ids["request_id"], "context.assembled", 2)
    assert answer | {"completed_at": None} == again | {"completed_at": None}
    assert (answer["status"], answer["degraded"], answer["error"]) == ("ok", False, None)
    assert 0 < answer["tokens"] <= 40
    assert answer["memory_ids"]
    assert all(memory_id in before for memory_id in answer["memory_ids"])
    usage, repeated = client.about(ids["request_id"], "context.usage", 2)
    assert usage["event_id"] == repeated["event_id"]
    assert usage["memory_ids"] == answer["memory_ids"]
    assert (usage["tenant_id"], usage["session_id"]) == ("umbrella", "s")
    assert decision(client, ids["request_id"])["route"] == route

    def risen():
        after = service.counts("umbrella", *before)
        return {name for name in before if after[name].use_count == before[name].use_count + 1}

    expected = set(answer["memory_ids"])
    wait_for(lambda: risen() == expected, "the use to be counted")
    wait_for(lambda: service.metric(HANDLED) >= handled + 2, "the second event")
    assert risen() == expected


@pytest.mark.requirement("RT-6", "RT-7")
def test_a_tenant_switches_decomposition_off_while_it_runs(service, client):
    def route(**fields):
        request_id = client.request(COMPLEX, **fields)
        assert client.result(request_id)["status"] == "ok"
        return decision(client, request_id)["route"]

    assert route(tenant="switching") == "rlm"
    for change, expected in (
        ("rlm_enabled=false", "standard"),
        ("rlm_enabled=", "rlm"),
        ("routing_threshold=1.0", "standard"),
    ):
        service.command("tenant", "set", "switching", change)
        wait_for(lambda expected=expected: route(tenant="switching") == expected, change)
        assert route() == "rlm"


@pytest.mark.requirement("RT-3")
def test_nothing_is_lost_when_the_worker_is_killed_while_requests_wait_for_a_model(
    service, client, model
):
    model.behave(Behaviour("stall"))
    before, worker = model.calls, service.worker()
    asked = [
        client.request(query, session_id=f"s{n}") for n, query in enumerate(complex_requests(12))
    ]
    model.wait_until_called(before + len(asked))
    assert not {one["request_id"] for one in client.messages("search.results")} & {*asked}
    worker.kill()
    model.behave(HELPFUL)
    wait_for(lambda: service.worker() not in (None, worker), "a new worker")
    for request_id in asked:
        result = client.result(request_id)
        assert (result["status"], result["degraded"]) == ("ok", False)
        assert {memory["memory_id"] for memory in result["results"]} >= {f"acme-{t}" for t in TEAMS}
        assert decision(client, request_id)["route"] == "rlm"
    wait_for(service.ready, "the service to be ready again")


@pytest.mark.requirement("RR-3", "RR-7", "RT-3")
def test_no_request_is_lost_while_the_language_model_fails_stalls_and_talks_nonsense(
    service, client, model
):
    hurry(service, "hurried")
    model.behave(
        Behaviour(
            "mixture",
            shares={"fail": 0.1, "stall": 0.1, "nonsense": 0.1},
            seed=CHANCE,
            text=HELPFUL.text,
        )
    )
    before, answers = model.by_behaviour(), {}
    for _ in range(ROUNDS):
        asked = {}
        for number, query in enumerate(complex_requests(MIXED // 2)):
            fields = {"tenant": "hurried", "session_id": f"s{number}"}
            for one in (query, SIMPLE):
                asked[client.request(one, **fields)] = time.time()

        def answered(asked=asked):
            results = client.messages("search.results")
            found = {one["request_id"]: one for one in results if one["request_id"] in asked}
            return len(found) == len(asked) and found

        results = wait_for(answered, "all to be answered")
        for request_id, result in results.items():
            assert SearchResult.model_validate(result).status == "ok"
            assert result["results"]
            took = datetime.fromisoformat(result["completed_at"]).timestamp() - asked[request_id]
            assert took <= BUDGET_S + SLACK_S
        answers |= results
    degraded = [one for one in answers.values() if one["degraded"]]
    assert 0 < len(degraded) <= len(answers) // 2
    after = model.by_behaviour()
    grown = {kind for kind, count in after.items() if count > before.get(kind, 0)}
    assert grown >= {"answer", "fail", "stall"}
    assert grown & {*NONSENSE}
    assert client.messages("dead-letters") == []
    assert "Traceback" not in service.output()


@pytest.mark.requirement("RR-3", "RT-3", "RX-7")
def test_simple_requests_do_not_wait_for_complex_ones_that_a_model_keeps_waiting(tmp_path, models):
    with (
        language_model() as model,
        running(tmp_path / "data", models=models, **model.settings) as service,
    ):
        client = Client(service.runtime["broker"], TOPICS)
        remember(client, "acme")
        hurry(service, "acme")
        model.behave(Behaviour("stall"))
        # All in one session, and so in one partition: the simple ones come last.
        published = time.time()
        slow = [client.request(query) for query in complex_requests(8)]
        model.wait_until_called(len(slow))
        fast = [client.request(SIMPLE) for _ in range(10)]
        simple = [client.result(request_id) for request_id in fast]
        taken_apart = [client.result(request_id) for request_id in slow]
        assert {one["status"] for one in (*simple, *taken_apart)} == {"ok"}
        assert {one["degraded"] for one in simple} == {False}
        assert {one["degraded"] for one in taken_apart} == {True}
        done = [datetime.fromisoformat(one["completed_at"]) for one in simple]
        late = [datetime.fromisoformat(one["completed_at"]) for one in taken_apart]
        assert max(done) < min(late)
        assert max(late).timestamp() - published <= BUDGET_S + SLACK_S
        for one in taken_apart:
            found = {memory["memory_id"] for memory in one["results"]}
            assert found >= {f"acme-{team}" for team in TEAMS}
        client.close()
