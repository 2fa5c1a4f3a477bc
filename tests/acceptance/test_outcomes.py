"""From outside: a search and what happens after it become a trajectory, for every outcome."""

import json
import time
import uuid

import pytest

from memstream.export import read_parquet
from models import Trajectory
from tests.acceptance.service import Client, running, wait_for

USED, REFINED = "result_used", "query_refined"
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
def test_the_command_line_shows_what_came_of_searches(service, client, session, tmp_path):
    request_id = searched(client, session)
    publish(client, "context.usage", told(session, request_id=request_id, memory_ids=["cat"]))
    outcome(client, request_id)
    lines = service.command("trajectories", "--tenant", "acme", "--json").stdout.splitlines()
    told_of = {one["request_id"]: one["outcome"] for one in map(json.loads, lines)}
    assert told_of[request_id] == {"type": "result_used", "quality_score": 1.0, "new_query": None}
    assert "used 1.0" in service.command("trajectories").stdout
    assert service.command("trajectories", "--tenant", "nobody").stdout == ""

    # An export has the newest revision only.
    publish(client, "feedback", told(session, request_id=request_id, quality_score=0.5))
    corrected, _ = outcome(client, request_id, 1)
    service.command("export", "--out", str(tmp_path / "t.parquet"), "--tenant", "acme")
    exported = [one for one in read_parquet(tmp_path / "t.parquet") if one.request_id == request_id]
    assert exported == [Trajectory.model_validate_json(json.dumps(corrected))]


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
    expected = {
        "used": {"type": USED, "quality_score": 1.0},
        "reworded": {"type": REFINED, "new_query": "how is her cat named"},
        "ignored": {"type": "result_ignored"},
        "abandoned": {"type": "result_ignored"},
        "silent": {"type": "no_signal"},
    }
    worker = wait_for(service.worker, "the worker")
    searches = {what: searched(client, f"{session}-{what}") for what in expected}
    worker.suspend()
    away_since = time.monotonic()
    use = told(f"{session}-used", request_id=searches["used"], memory_ids=["cat"])
    publish(client, "context.usage", use)
    publish(client, "session.abandonments", told(f"{session}-abandoned"))
    reworded = client.request("how is her cat named", session_id=f"{session}-reworded")
    client.request("weather", session_id=f"{session}-ignored")
    # A search that is itself asked for, reworded and left while nobody is there.
    asked = client.request("what is her cat called", session_id=f"{session}-unanswered")
    # Messages are dated to the millisecond; in the same one, neither is known to come first.
    asked_at = time.time()
    wait_for(lambda: time.time() - asked_at > 0.002, "the clock to go on")
    again = client.request("the name of her cat", session_id=f"{session}-unanswered")
    publish(client, "session.abandonments", told(f"{session}-unanswered"))
    wait_for(lambda: time.monotonic() - away_since > 2 * WINDOW_S, "the windows to end")
    labelled = {one["request_id"] for one in client.messages("trajectories")}
    assert not labelled & {*searches.values()}, "somebody was there"
    worker.resume()
    for what, label in expected.items():
        assert outcome(client, searches[what])[1] == label, what
    # That it was left may be known before that it was reworded, which counts for more.
    refined = {"type": REFINED, "new_query": "the name of her cat"}
    wait_for(lambda: settled(client, asked, refined), "the rewording to count")
    assert outcome(client, again)[1] == {"type": "result_ignored"}
    assert outcome(client, reworded)[1] == {"type": "no_signal"}
    # Nothing was labelled in haste and corrected then.
    for request_id in (*searches.values(), again, reworded):
        assert len(client.about(request_id, "trajectories")) == 1, request_id


def plain(fields, _):
    return fields, []


def structured(fields, own_id):
    """Put a message into a CloudEvent, whose id stands in for the message's own."""
    event = {"specversion": "1.0", "source": "/a/service", "type": "told", "id": fields[own_id]}
    data = {name: value for name, value in fields.items() if name != own_id}
    return event | {"data": data}, [("content-type", b"application/cloudevents+json")]


def binary(fields, own_id):
    event = {"specversion": "1.0", "source": "/a/service", "type": "told", "id": fields[own_id]}
    data = {name: value for name, value in fields.items() if name != own_id}
    return data, [(f"ce_{name}", value.encode()) for name, value in event.items()]


OUTCOMES = {
    "used": {"type": USED, "quality_score": 0.9},
    "refined": {"type": REFINED, "new_query": "her pet"},
    "reworded": {"type": REFINED, "new_query": "how is her cat named"},
    "abandoned": {"type": "result_ignored"},
    "session abandoned": {"type": "result_ignored"},
    "ignored": {"type": "result_ignored"},
    "silent": {"type": "no_signal"},
    "judged": {"type": USED, "quality_score": 0.4},
    "corrected": {"type": USED, "quality_score": 1.0},
}


class Teller:
    """Searches and tells what came of it, in one way of writing messages."""

    def __init__(self, client, write):
        self._client = client
        self._write = write
        self._name = f"{write.__name__}-{uuid.uuid4()}"

    def search(self, what, query="what is her cat called", part=0):
        request_id = f"{self._name}-{what}-{part}"
        request = {"request_id": request_id, "tenant_id": "acme", "query": query}
        self._publish("search.requests", request | {"session_id": self._session(what)})
        return request_id

    def tell(self, topic, what, **fields):
        self._publish(topic, told(self._session(what), **fields))

    def _session(self, what):
        return f"{self._name}-{what}"

    def _publish(self, topic, fields):
        value, headers = self._write(fields, "event_id" if "event_id" in fields else "request_id")
        key = f"acme/{fields['session_id']}".encode()
        self._client.publish(topic, value, key=key, headers=headers)


def settled(client, request_id, expected):
    """Return whether the last label of a search is the expected one."""
    told_of = [one for one in client.messages("trajectories") if one["request_id"] == request_id]
    last = max(told_of, key=lambda one: one["revision"], default=None)
    return last and {k: v for k, v in last["outcome"].items() if v is not None} == expected


@pytest.mark.requirement("TR-1", "TR-2")
def test_every_outcome_is_told_in_plain_json_and_as_cloudevents(client):
    searches = {}
    tellers = [Teller(client, write) for write in (plain, structured, binary)]
    for teller in tellers:
        mine = {what: teller.search(what) for what in OUTCOMES}
        searches |= {request_id: OUTCOMES[what] for what, request_id in mine.items()}
        for request_id in mine.values():
            assert client.result(request_id)["status"] == "ok"
        use = {"memory_ids": ["cat"], "quality_score": 0.9}
        teller.tell("context.usage", "used", request_id=mine["used"], **use)
        teller.tell("query.refinements", "refined", request_id=mine["refined"], new_query="her pet")
        teller.search("reworded", "how is her cat named", part=1)
        teller.tell("session.abandonments", "abandoned", request_id=mine["abandoned"])
        teller.tell("session.abandonments", "session abandoned")
        teller.search("ignored", "weather", part=1)
        teller.tell("feedback", "judged", request_id=mine["judged"], quality_score=0.4)
        teller.tell("context.usage", "judged", request_id=mine["judged"], **use)
    late = {f"{teller._session('corrected')}-0": teller for teller in tellers}
    silent = {"type": "no_signal"}
    wait_for(lambda: all(settled(client, one, silent) for one in late), "the end of the window")
    for request_id, teller in late.items():
        teller.tell("context.usage", "corrected", request_id=request_id, memory_ids=["cat"])
    wait_for(lambda: all(settled(client, *one) for one in searches.items()), "all of the outcomes")
