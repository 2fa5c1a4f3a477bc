"""From outside: an item and a request published by a foreign client give the right memory."""

import json

import httpx
import pytest

CONTENTS = {
    "nausea": "User experiences nausea after dairy",
    "port": "The login endpoint listens on port 8443",
    "cat": "Her cat is called Momo",
}


@pytest.fixture(autouse=True, scope="module")
def _remembered(service):
    from tests.acceptance.service import Client

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

    from tests.acceptance.service import wait_for

    wait_for(gone, "the memory to be gone")


def test_health_readiness_and_metrics_answer(service):
    web = service.runtime["web"]
    assert httpx.get(f"{web}/healthz").status_code == 200
    assert httpx.get(f"{web}/readyz").json() == {"status": "ready", "reasons": {}}
    metrics = httpx.get(f"{web}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "memstream_messages_total" in metrics.text
    assert "memstream is" in service.output()
    assert httpx.get(web).text.count("<a href") >= 3


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
    assert "✗" not in service.command("doctor").stdout
    assert "up to date" in service.command("migrate").stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("search", "", "--tenant", "t"), "query"),
        (("search", "x", "--tenant", "t", "--limit", "0"), "limit"),
        (("search", "x", "--tenant", "t", "--mode", "psychic"), "mode"),
        (("remember", "x", "--tenant", "t", "--layer", "attic"), "layer"),
        (("import", "nowhere.jsonl"), "nowhere.jsonl"),
        (("search", "x", "--tenant", "t", "--operation", "guess"), "operation"),
    ],
)
def test_what_a_user_got_wrong_is_one_clear_line(service, arguments, complaint):
    outcome = service.command(*arguments, check=False)
    assert outcome.returncode == 1
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert complaint in outcome.stderr
    assert "Traceback" not in outcome.stderr
