"""From outside, with AUTH=jwt: only who has a token is served, and only as the token says."""

import time

import httpx
import pytest

from tests.acceptance.service import Client, Service, running, wait_for
from tests.unit.tokens import bearer, jwk, token, write_keys


def bearing(**changed):
    return bearer(token(iat=time.time(), exp=time.time() + 600, **changed))


def item(memory_id, tenant="acme"):
    named = {"event_id": f"e-{memory_id}", "tenant_id": tenant, "memory_id": memory_id}
    return named | {"content": f"the cat called {memory_id}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    keys = write_keys(folder / "keys.json", jwk("hs"), jwk("rs"))
    with running(folder / "data", auth="jwt", jwt_keys=keys, embedder="none") as service:
        yield service


def answer(client, request_id, headers, **fields):
    request = {"request_id": request_id, "tenant_id": "acme", "session_id": "s", "query": "cat"}
    client.publish("search.requests", request | fields, headers=headers)
    return client.result(request_id)


@pytest.mark.requirement("SE-17", "SE-1")
def test_only_what_a_token_allows_is_written_and_read(service):
    client = Client(service.runtime["broker"])
    client.publish("items", item("bare"))
    client.publish("items", item("forged"), headers=bearing(tenant="umbrella"))
    client.publish("items", item("momo"), headers=bearing())
    wait_for(
        lambda: answer(client, f"r-{time.monotonic()}", bearing(kid="rs"))["results"], "the memory"
    )
    wait_for(lambda: len(client.dead_letters()) == 2, "two dead letters")
    found = answer(client, "mine", bearing(), limit=100)
    assert [memory["memory_id"] for memory in found["results"]] == ["momo"]
    assert answer(client, "bare", [])["error"]["code"] == "unauthorized"
    theirs = answer(client, "theirs", bearing(tenant="umbrella"))
    assert (theirs["error"]["code"], theirs["results"]) == ("forbidden", [])
    elevated = bearing(tenant="umbrella", roles=["cross_tenant_read"])
    assert len(answer(client, "elevated", elevated)["results"]) == 1
    wait_for(lambda: len(client.dead_letters()) == 4, "a dead letter for each refusal")
    tokens = {dict(letter.headers()).get("authorization") for letter in client.dead_letters()}
    assert tokens == {None, b"redacted"}
    metrics = httpx.get(f"{service.runtime['web']}/metrics").text
    assert 'memstream_refusals_total{code="forbidden"} 2.0' in metrics
    assert 'memstream_refusals_total{code="unauthorized"} 2.0' in metrics
    assert "cross-tenant read" in service.output()
    client.close()


@pytest.mark.requirement("SE-17", "SE-1")
def test_signals_for_another_tenant_are_refused(service):
    client = Client(service.runtime["broker"])
    client.dead_letters()
    told = {"event_id": "e", "tenant_id": "acme", "session_id": "s", "request_id": "mine"}
    signals = {"context.usage": {"memory_ids": ["momo"]}, "feedback": {"quality_score": 0.0}}
    for topic, fields in signals.items():
        client.publish(topic, told | fields, headers=bearing(tenant="umbrella"))
        client.publish(topic, told | fields)
        client.publish(topic, told | fields, headers=bearing())

    def kept():
        letters = [dict(letter.headers()) for letter in client.dead_letters()]
        of = [(one["memstream-error-topic"], one["memstream-error-code"]) for one in letters]
        return {
            topic: [code for name, code in of if name == f"memory.{topic}".encode()]
            for topic in signals
        }

    refused = {topic: [b"forbidden", b"unauthorized"] for topic in signals}
    wait_for(lambda: kept() == refused, "a dead letter for each refusal")
    client.close()


@pytest.mark.requirement("SE-17")
def test_without_keys_it_does_not_start(tmp_path):
    for command in ("up", "worker"):
        ended = Service(tmp_path / "data", auth="jwt").command(command, check=False)
        assert ended.returncode == 1
        assert "MEMSTREAM_JWT_KEYS" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
