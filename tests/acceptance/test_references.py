"""Being returned counts once a request, however often the request is delivered."""

import uuid

import pytest

from tests.acceptance.service import wait_for


@pytest.mark.requirement("SE-10")
@pytest.mark.parametrize(
    "asked",
    [
        {"operation": "search", "query": "what is her cat called?"},
        {"operation": "recall", "query": "what is her cat called?"},
        {"operation": "get", "memory_ids": ["cat"]},
    ],
    ids=lambda asked: asked["operation"],
)
def test_a_request_that_is_delivered_twice_counts_once(service, client, asked):
    tenant = f"counted-{uuid.uuid4()}"
    client.remember("cat", "Her cat is called Momo", tenant=tenant)
    wait_for(lambda: service.counts(tenant, "cat"), "the memory")

    def deliver(request_id, times):
        request = {"request_id": request_id, "tenant_id": tenant, "session_id": "s"}
        for _ in range(times):
            client.publish("search.requests", request | asked, key=f"{tenant}/s".encode())
        for result in client.about(request_id, "search.results", count=times):
            assert [found["memory_id"] for found in result["results"]] == ["cat"]

    def count():
        return service.counts(tenant, "cat")["cat"].reference_count

    deliver(str(uuid.uuid4()), times=2)
    wait_for(lambda: count() >= 1, "the first request to be counted")
    # The third delivery is counted after the second would have been.
    deliver(str(uuid.uuid4()), times=1)
    wait_for(lambda: count() >= 2, "the other request to be counted")
    assert count() == 2
