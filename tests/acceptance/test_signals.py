"""From outside: use is counted once, for the tenant's own memories, whatever is delivered twice."""

import uuid

import pytest

from storage import Counts
from tests.acceptance.service import Client, wait_for


@pytest.fixture(autouse=True, scope="module")
def _remembered(service):
    client = Client(service.runtime["broker"])
    for tenant in ("acme", "umbrella"):
        client.remember(f"{tenant}-cat", "Her cat is called Momo", tenant=tenant)
        client.search_until("cat", f"{tenant}-cat", tenant=tenant)
    client.close()


def used(service, tenant, memory_id):
    return service.counts(tenant, memory_id)[memory_id].use_count


def usage(*memory_ids, event_id=None, tenant="acme", **fields):
    return {
        "event_id": event_id or str(uuid.uuid4()),
        "tenant_id": tenant,
        "session_id": "s",
        "request_id": "r",
        "memory_ids": memory_ids,
    } | fields


@pytest.mark.requirement("SE-10", "SE-1")
def test_only_a_tenants_own_memories_are_used_and_others_are_counted(service, client):
    not_found = "memstream_memories_not_found_total"
    before, missing = used(service, "acme", "acme-cat"), service.metric(not_found)
    event = usage("acme-cat", "umbrella-cat", occurred_at="2026-11-16T12:00:00Z")
    for _ in range(2):
        client.publish("context.usage", event)
    client.publish("context.usage", usage("acme-cat"))
    wait_for(lambda: used(service, "acme", "acme-cat") == before + 2, "the uses to be counted")
    theirs = service.counts("umbrella", "umbrella-cat", "acme-cat")["umbrella-cat"]
    assert theirs == Counts(theirs.reference_count, theirs.last_referenced_at)
    wait_for(lambda: service.metric(not_found) == missing + 1, "the foreign id to be counted")
    # Feedback on it is counted as well, and changes nothing either.
    judged = {name: value for name, value in event.items() if name != "memory_ids"}
    for memory_id in ("acme-cat", "umbrella-cat"):
        client.publish("feedback", judged | {"memory_id": memory_id, "quality_score": 0.1})
    wait_for(lambda: service.metric(not_found) == missing + 2, "the feedback to be looked at")
    assert service.counts("umbrella", "umbrella-cat") == {"umbrella-cat": theirs}
    assert used(service, "acme", "acme-cat") == before + 2


@pytest.mark.requirement("SE-1")
def test_patterns_and_missing_tenants_reach_nobody_and_are_counted(service, client):
    wildcards = "memstream_wildcards_total"
    refused = 'memstream_answers_total{code="invalid_request",topic="memory.search.results"}'
    before, missing = service.metric(wildcards), service.metric(refused)
    attempts = [
        {"tenant": "%"},
        {"tenant": "*"},
        {"scope": "%"},
        {"filters": {"tenant_id": "%"}},
        {"filters": {"%": {"any": ["*"]}}},
    ]
    for attempt in attempts:
        found = client.result(client.request("cat", **attempt))["results"]
        own = {} if "tenant" in attempt or "filters" in attempt else {"acme-cat"}
        assert {one["memory_id"] for one in found} <= set(own), attempt
    assert service.metric(wildcards) == before + len(attempts)
    # An underscore is part of many names, and a query may be about anything.
    client.result(client.request("100 % of *", scope="my_project"))
    assert service.metric(wildcards) == before + len(attempts)
    for nobody in (None, ""):
        answer = client.result(client.request("cat", tenant=nobody))
        assert (answer["status"], answer["results"]) == ("error", [])
    assert service.metric(refused) == missing + 2


@pytest.mark.requirement("SE-10")
def test_to_be_found_is_not_to_be_used(service, client):
    before = service.counts("umbrella", "umbrella-cat")["umbrella-cat"]
    client.result(client.request("cat", tenant="umbrella"))

    def found():
        after = service.counts("umbrella", "umbrella-cat")["umbrella-cat"]
        return after.reference_count > before.reference_count and after

    assert wait_for(found, "the reference to be counted").use_count == before.use_count


@pytest.mark.requirement("SE-10")
def test_the_command_line_tells_of_use_and_gives_feedback(service):
    before = used(service, "umbrella", "umbrella-cat")
    tenant = ("--tenant", "umbrella")
    told = service.command("use", "r", "umbrella-cat", "acme-cat", *tenant)
    assert told.stdout == "usage published\n"
    judged = service.command("feedback", "r", "--quality", "0.9", *tenant, "--session", "s")
    assert judged.stdout == "feedback published\n"
    wait_for(lambda: used(service, "umbrella", "umbrella-cat") == before + 1, "the use")
    for wrong in (("--quality", "2"), ("--quality", "0.5", "--session", "")):
        refused = service.command("feedback", "r", *wrong, *tenant, check=False)
        assert refused.returncode == 1
        assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.requirement("SE-10")
def test_what_cannot_be_read_is_a_dead_letter_and_the_rest_is_counted(service, client):
    case = uuid.uuid4().bytes

    def kept():
        about = [dict(one.headers()) for one in client.dead_letters()]
        return [one["memstream-error-code"] for one in about if one.get("case") == case]

    before = used(service, "acme", "acme-cat")
    for topic in ("context.usage", "feedback"):
        client.publish(topic, b'{"event_id": "broken"', headers=[("case", case)])
    client.publish("context.usage", usage("acme-cat"))
    wait_for(lambda: kept() == [b"invalid_request"] * 2, "the dead letters")
    wait_for(lambda: used(service, "acme", "acme-cat") == before + 1, "the use")


@pytest.mark.requirement("SE-10")
def test_a_worker_killed_in_the_middle_counts_nothing_twice_and_loses_nothing(service, client):
    before = used(service, "acme", "acme-cat")
    events = [usage("acme-cat") for _ in range(300)]
    for number, event in enumerate(events):
        client.publish("context.usage", event)
        if number == 150:
            wait_for(lambda: used(service, "acme", "acme-cat") > before, "the first to be counted")
            service.worker().kill()
    wait_for(lambda: used(service, "acme", "acme-cat") >= before + 300, "all to be counted")
    wait_for(service.ready, "the service to be ready again")
    for event in events[:20]:
        client.publish("context.usage", event)
    # One of another memory on the same partition: whatever was to be counted twice is by then.
    client.remember("acme-last", "The end")
    client.search_until("the end", "acme-last")
    client.publish("context.usage", usage("acme-last"))
    wait_for(lambda: used(service, "acme", "acme-last") == 1, "the last to be counted")
    assert used(service, "acme", "acme-cat") == before + 300
