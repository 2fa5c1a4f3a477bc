"""From outside: dead letters are listed, and sent again once what was wrong is mended."""

import json
import uuid

import pytest

from tests.acceptance.service import Client, create_topic, running, wait_for


@pytest.fixture(scope="module")
def service(tmp_path_factory, own_parts):
    with running(tmp_path_factory.mktemp("kept"), *own_parts, embedder="none") as service:
        if own_parts:
            create_topic(service.runtime["broker"], "memory.replies.kept")
        yield service


@pytest.fixture
def client(service):
    client = Client(service.runtime["broker"])
    yield client
    client.close()


def listed(service, *options):
    lines = service.command("dead-letters", "list", "--json", *options).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_dead_letters_are_listed_chosen_and_sent_again_as_they_were(service, client):
    tenant = f"t-{uuid.uuid4()}"
    item = {"event_id": "e", "tenant_id": tenant, "memory_id": "m", "content": "a cat"}
    marked = [("mine", b"\xff"), ("authorization", b"Bearer secret")]
    client.publish("items", item, key=None, headers=marked)
    client.publish("items", item | {"importance": 99}, key=b"k", headers=marked)
    client.publish("search.requests", {"tenant_id": tenant}, key=b"k")
    wait_for(lambda: len(client.dead_letters()) >= 3, "three dead letters")
    mine = listed(service, "--tenant", tenant)
    topics = [one["topic"] for one in mine]
    assert sorted(topics) == ["memory.items", "memory.items", "memory.search.requests"]
    assert {one["code"] for one in mine} == {"invalid_request"}
    (offset,) = [one["offset"] for one in mine if "importance" in one["message"]]
    chosen = listed(service, "--tenant", tenant, "--topic", "items", "--limit", "1")
    newest = max(one["offset"] for one in mine if one["topic"] == "memory.items")
    assert [one["offset"] for one in chosen] == [newest]
    assert listed(service, "--tenant", tenant, "--code", "forbidden") == []
    shown = service.command("dead-letters", "list").stdout
    assert "newest" not in shown
    assert "memory.items" in shown

    # Sent again twice: it fails again each time, and says so.
    one = ("--tenant", tenant, "--offset", str(offset))
    would = service.command("dead-letters", "replay", *one, "--dry-run").stdout
    assert f"would send {offset}" in would
    assert "1 would be sent" in would
    for _ in range(2):
        assert "1 sent again" in service.command("dead-letters", "replay", *one).stdout
    wait_for(lambda: len(client.dead_letters()) >= 5, "the same two dead again")
    original, first, second = [
        one for one in client.dead_letters() if b'"importance": 99' in one.value()
    ]
    for again in (first, second):
        assert (again.value(), again.key()) == (original.value(), original.key())
    headers = dict(again.headers())
    assert headers["mine"] == b"\xff"
    assert headers["memstream-replays"] == b"1"
    assert "authorization" not in headers
    assert [one["replays"] for one in listed(service, "--tenant", tenant)] == [0, 0, 0, 1, 1]


def test_what_is_sent_again_takes_effect_and_only_once(service):
    client = Client(service.runtime["broker"], ("search.results", "dead-letters", "replies.kept"))
    tenant = f"t-{uuid.uuid4()}"
    client.remember("m", "a cat", tenant=tenant)
    wait_for(lambda: service.counts(tenant, "m"), "the memory")
    request = {"request_id": "r", "tenant_id": tenant, "session_id": "s", "query": "cat"}
    client.publish("search.requests", request, headers=[("reply-to", b"memory.replies.kept")])
    assert client.about("r", "search.results")[0]["error"]["code"] == "forbidden"
    assert service.counts(tenant, "m")["m"].reference_count == 0
    service.command("tenant", "set", tenant, "reply_topics=memory.replies.kept")
    options = ("--tenant", tenant, "--code", "forbidden")
    for times in (1, 2):
        assert "1 sent again" in service.command("dead-letters", "replay", *options).stdout
        answers = client.about("r", "replies.kept", times)
        assert [len(one["results"]) for one in answers] == [1] * times
    wait_for(lambda: service.counts(tenant, "m")["m"].reference_count, "the count")
    assert service.counts(tenant, "m")["m"].reference_count == 1
    client.close()
