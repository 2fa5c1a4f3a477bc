"""From outside: an item and a request published by a foreign client give the right memory."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from memstream_client import MemstreamClient

from tests.acceptance.service import HTTP, PATIENCE_S, Client, wait_for

README = Path(__file__).parents[2] / "README.md"
CONTENTS = {
    "nausea": "User experiences nausea after dairy",
    "port": "The login endpoint listens on port 8443",
    "cat": "Her cat is called Momo",
}


@pytest.fixture(autouse=True, scope="module")
def _remembered(service):
    client = Client(service.runtime["broker"])
    for tenant in ("acme", "umbrella"):
        for memory_id, content in CONTENTS.items():
            client.remember(f"{tenant}-{memory_id}", content, tenant=tenant)
        client.search_until("cat", f"{tenant}-cat", tenant=tenant)
    client.close()


@pytest.mark.requirement("SE-2")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("feeling unwell", "nausea"),
        ("what is the login endpoint", "port"),
        ("the name of her pet", "cat"),
    ],
)
def test_the_right_memory_comes_back_first(client, query, expected):
    result = client.result(client.request(query, limit=2))
    assert result["status"] == "ok"
    assert result["error"] is None
    assert result["degraded"] is False
    assert len(result["results"]) == 2
    first = result["results"][0]
    assert first["memory_id"] == f"acme-{expected}"
    assert first["content"] == CONTENTS[expected]
    assert 0 < first["similarity"] <= 1
    assert first["score"] == 1.0


@pytest.mark.requirement("SE-1")
def test_no_tenant_sees_another(client):
    for tenant in ("acme", "umbrella", "stranger", "%"):
        result = client.result(client.request("cat", tenant=tenant, limit=100))
        owners = {memory["memory_id"].split("-")[0] for memory in result["results"]}
        assert owners == ({tenant} if tenant in ("acme", "umbrella") else set())


@pytest.mark.requirement("SE-1")
def test_get_returns_memories_by_id_within_the_tenant(client):
    ids = ["acme-cat", "umbrella-cat", "acme-port"]
    result = client.result(client.request("", operation="get", memory_ids=ids))
    assert [memory["memory_id"] for memory in result["results"]] == ["acme-cat", "acme-port"]


def test_filters_and_faded_confidence_narrow_a_search(client):
    client.remember("acme-dated", "The printer is on floor two", metadata={"kind": "place"})
    client.remember("acme-faded", "The printer is on floor nine", confidence=0.1)
    client.search_until("where is the printer?", "acme-faded", min_confidence=0.0)
    result = client.result(client.request("where is the printer?"))
    assert "acme-faded" not in [memory["memory_id"] for memory in result["results"]]
    result = client.result(client.request("where is the printer?", filters={"kind": "place"}))
    assert [memory["memory_id"] for memory in result["results"]] == ["acme-dated"]


def test_correlation_and_trace_are_passed_on(client):
    headers = [("correlation-id", b"c-1"), ("traceparent", b"00-aa-bb-01")]
    request = {"request_id": "traced", "tenant_id": "acme", "session_id": "s", "query": "cat"}
    client.publish("search.requests", request, headers=headers)
    client.result("traced")
    (message,) = [
        m
        for m in client._seen["memory.search.results"]
        if json.loads(m.value())["request_id"] == "traced"
    ]
    assert dict(message.headers()) == dict(headers)
    assert message.key() == b"acme/s"


def test_cloudevents_are_understood_in_both_modes(client):
    data = {"tenant_id": "acme", "session_id": "s", "query": "cat"}
    attributes = {"specversion": "1.0", "source": "/test", "type": "search"}
    binary = [(f"ce_{name}", value.encode()) for name, value in attributes.items()]
    client.publish("search.requests", data, headers=[*binary, ("ce_id", b"ce-binary")])
    client.publish(
        "search.requests",
        {**attributes, "id": "ce-structured", "data": data},
        headers=[("content-type", b"application/cloudevents+json")],
    )
    for request_id in ("ce-binary", "ce-structured"):
        assert client.result(request_id)["results"][0]["memory_id"] == "acme-cat"


def test_an_update_and_a_deletion_take_effect(client):
    client.remember("acme-temporary", "The quarterly figures are late")
    client.search_until("quarterly figures", "acme-temporary")
    client.publish(
        "items",
        {"event_id": "gone", "tenant_id": "acme", "memory_id": "acme-temporary", "op": "delete"},
        key=b"acme/",
    )

    def gone():
        result = client.result(client.request("quarterly figures"))
        return "acme-temporary" not in [memory["memory_id"] for memory in result["results"]]

    wait_for(gone, "the memory to be gone")


def test_health_readiness_and_metrics_answer(service):
    web = service.runtime["web"]
    assert HTTP.get(f"{web}/healthz").status_code == 200
    assert HTTP.get(f"{web}/readyz").json() == {"status": "ready", "reasons": {}}
    metrics = HTTP.get(f"{web}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "memstream_messages_total" in metrics.text
    assert "memstream is" in service.output()
    assert HTTP.get(web).text.count("<a href") >= 3


@pytest.mark.requirement("OB-1")
def test_the_console_tells_how_the_service_does(client, service):
    web = service.runtime["web"]
    client.result(client.request("how is it doing?", tenant="watched"))

    def measured():
        told = HTTP.get(f"{web}/api/overview").json()
        return told["lag"] and told

    overview = wait_for(measured, "the first look at how much is left to be read")
    assert overview["ready"]
    assert overview["unread"] is None
    assert overview["routes"]["standard"] > 0
    assert overview["lag"].keys() >= {"memory.search.requests", "memory.trajectories"}
    assert HTTP.get(f"{web}/api/tenant?tenant=watched").json()["policy"]["version"] == 0
    refused = HTTP.post(f"{web}/api/policy?tenant=watched", json={"order": "promote", "why": "x"})
    assert refused.status_code == 403


def test_the_command_line_finds_the_running_service(service, tmp_path):
    memory_id = service.command("remember", "The office is in Lisbon", "-t", "cli").stdout.strip()
    lines = [{"id": f"m{n}", "tenant": "cli", "content": f"Fact number {n}"} for n in range(25)]
    file = tmp_path / "memories.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert "25 memories published" in service.command("import", str(file)).stdout
    found = service.command("search", "where is the office?", "--tenant", "cli", "--json")
    result = json.loads(found.stdout)
    assert result["results"][0]["memory_id"] == memory_id
    table = service.command("search", "where is the office?", "--tenant", "cli", "--limit", "1")
    assert "Lisbon" in table.stdout
    assert "memory.search.requests" in service.command("topics").stdout
    assert "fail  " not in service.command("doctor").stdout
    assert "up to date" in service.command("migrate").stdout


async def test_the_client_for_python_services_is_answered(service):
    async with MemstreamClient(service.runtime["broker"], tenant="acme") as client:
        found = await client.search("what is the login endpoint", limit=1)
        assert found.results[0].memory_id == "acme-port"
        packed = await client.context("what is the login endpoint", token_budget=20)
        assert packed.memory_ids[0] == "acme-port"


def test_the_example_of_the_readme_works_on_its_first_run(service):
    (example,) = re.findall(r"```python\n(.+?)```", README.read_text(), re.DOTALL)
    assert "127.0.0.1:9092" in example
    example = example.replace("127.0.0.1:9092", service.runtime["broker"])
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 0, ran.stderr
    assert "1.00 Alice is allergic to nuts" in ran.stdout
