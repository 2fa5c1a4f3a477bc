"""From outside: a search and what happens after it become a trajectory, for every outcome."""

import json
import uuid

import pytest

from tests.acceptance.service import Client, running, wait_for

WINDOW_S = 6
"""Long enough to do something within it on a busy machine, short enough to wait for its end."""


@pytest.fixture(scope="module")
def service(tmp_path_factory, parts, models):
    folder = tmp_path_factory.mktemp("service")
    with running(folder, *parts, models=models, outcome_window_s=WINDOW_S) as service:
        client = Client(service.runtime["broker"])
        client.remember("cat", "Her cat is called Momo")
        client.search_until("cat", "cat", session_id="setup")
        client.close()
        yield service


@pytest.fixture
def client(service):
    client = Client(service.runtime["broker"], ("search.results", "dead-letters", "trajectories"))
    yield client
    client.close()


@pytest.fixture
def session():
    return str(uuid.uuid4())


def searched(client, session, query="what is her cat called"):
    """Search and return the request's id once there is a result."""
    request_id = client.request(query, session_id=session)
    assert client.result(request_id)["status"] == "ok"
    return request_id


def told(session, *, tenant="acme", **fields):
    named = {"event_id": str(uuid.uuid4()), "tenant_id": tenant, "session_id": session}
    return named | fields


def publish(client, topic, event):
    key = f"{event['tenant_id']}/{event['session_id']}".encode()
    client.publish(topic, event, key=key)


def outcome(client, request_id, revision=0):
    """Wait for a label and return it."""
    trajectory = client.about(request_id, "trajectories", revision + 1)[revision]
    assert trajectory["revision"] == revision
    return trajectory, {k: v for k, v in trajectory["outcome"].items() if v is not None}


@pytest.mark.requirement("TR-1", "TR-3", "TJ-1", "TJ-3")
def test_use_labels_at_once_and_once(client, session):
    request_id = searched(client, session)
    use = told(session, request_id=request_id, memory_ids=["cat"], quality_score=0.9)
    for _ in range(3):
        publish(client, "context.usage", use)
    trajectory, label = outcome(client, request_id)
    assert label == {"type": "result_used", "quality_score": 0.9}
    assert trajectory["reward"] == 1.0
    assert trajectory["trainable"]
    assert [shown["memory_id"] for shown in trajectory["shown"]] == ["cat"]
    assert trajectory["actions"]
    assert not {"succeeded", "seed"} & trajectory.keys()
    # What somebody says afterwards counts more: the label is corrected.
    publish(client, "feedback", told(session, request_id=request_id, quality_score=0.4))
    trajectory, label = outcome(client, request_id, 1)
    assert label == {"type": "result_used", "quality_score": 0.4}
    assert trajectory["reward"] == pytest.approx(0.7)


@pytest.mark.requirement("TR-1")
def test_a_rewording_told_or_seen_is_a_refinement(client, session):
    request_id = searched(client, session)
    refined = told(session, request_id=request_id, new_query="her pet")
    publish(client, "query.refinements", refined)
    _, label = outcome(client, request_id)
    assert label == {"type": "query_refined", "new_query": "her pet"}
    other = searched(client, session, "the name of her cat")
    searched(client, session, "how is her cat named")
    _, label = outcome(client, other)
    assert label == {"type": "query_refined", "new_query": "how is her cat named"}


@pytest.mark.requirement("TR-1")
@pytest.mark.parametrize("whole_session", [True, False])
def test_an_abandoned_search_is_ignored(client, session, whole_session):
    request_id = searched(client, session)
    about = {} if whole_session else {"request_id": request_id}
    publish(client, "session.abandonments", told(session, **about))
    trajectory, label = outcome(client, request_id)
    assert label == {"type": "result_ignored"}
    assert trajectory["reward"] == pytest.approx(-0.2)


@pytest.mark.requirement("TR-1", "TR-2")
def test_after_the_window_silence_is_ignoring_only_if_the_session_went_on(client, session):
    ignored = searched(client, session)
    last = searched(client, session, "weather")
    trajectory, label = outcome(client, ignored)
    assert label == {"type": "result_ignored"}
    assert trajectory["trainable"]
    trajectory, label = outcome(client, last)
    assert label == {"type": "no_signal"}
    assert not trajectory["trainable"]
    publish(client, "context.usage", told(session, request_id=last, memory_ids=["cat"]))
    _, label = outcome(client, last, 1)
    assert label == {"type": "result_used", "quality_score": 1.0}


@pytest.mark.requirement("TR-1")
def test_the_command_line_shows_what_came_of_searches(service, client, session):
    request_id = searched(client, session)
    publish(client, "context.usage", told(session, request_id=request_id, memory_ids=["cat"]))
    outcome(client, request_id)
    lines = service.command("trajectories", "--tenant", "acme", "--json").stdout.splitlines()
    told_of = {one["request_id"]: one["outcome"] for one in map(json.loads, lines)}
    assert told_of[request_id] == {"type": "result_used", "quality_score": 1.0, "new_query": None}
    assert "used 1.0" in service.command("trajectories").stdout
    assert service.command("trajectories", "--tenant", "nobody").stdout == ""


@pytest.mark.requirement("TR-2")
def test_a_signal_may_come_before_its_search(client, session):
    request_id = str(uuid.uuid4())
    publish(client, "context.usage", told(session, request_id=request_id, memory_ids=["cat"]))
    request = {"request_id": request_id, "query": "cat", "tenant_id": "acme"}
    client.publish(
        "search.requests", request | {"session_id": session}, key=f"acme/{session}".encode()
    )
    _, label = outcome(client, request_id)
    assert label["type"] == "result_used"


@pytest.mark.requirement("SE-1", "TR-2")
def test_another_tenants_signal_has_no_effect(client, session):
    request_id = searched(client, session)
    theirs = {"tenant": "umbrella", "request_id": request_id}
    publish(client, "context.usage", told(session, **theirs, memory_ids=["cat"]))
    publish(client, "session.abandonments", told(session, tenant="umbrella"))
    _, label = outcome(client, request_id)
    assert label == {"type": "no_signal"}


@pytest.mark.requirement("TR-2")
def test_a_worker_that_was_away_mislabels_nothing(service, client, session):
    """While nobody reads, windows end; what was written meanwhile counts all the same."""
    used, silent = searched(client, session), searched(client, session + "-silent")
    wait_for(lambda: service.worker(), "the worker")
    service.worker().kill()
    publish(client, "context.usage", told(session, request_id=used, memory_ids=["cat"]))
    trajectory, label = outcome(client, used)
    assert (trajectory["revision"], label["type"]) == (0, "result_used")
    _, label = outcome(client, silent)
    assert label["type"] == "no_signal"
    assert len(client.about(used, "trajectories")) == 1
