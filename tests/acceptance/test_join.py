"""From outside: whatever is repeated, reordered or killed, every label is that of the log."""

import itertools
import json
import random
import time
import uuid
from collections import defaultdict
from datetime import timedelta

import pytest

from models import Decision
from tests.acceptance.service import Client, running, wait_for
from tests.integration.storage.aftermath import (
    CAT,
    CORRECTION,
    GET,
    NOON,
    PET,
    RAIN,
    WINDOW,
    Oracle,
    decision,
    labels,
    signal,
)

SEARCHES = 2_000
STOPPED_S = 8
"""Longer than a worker may be silent before its partitions are given to others."""
LATE_S = (WINDOW + CORRECTION).total_seconds() + 60


@pytest.fixture(scope="module")
def service(tmp_path_factory, parts, models):
    windows = {
        "outcome_window_s": WINDOW.total_seconds(),
        "correction_window_s": CORRECTION.total_seconds(),
    }
    folder = tmp_path_factory.mktemp("service")
    with running(folder, *parts, models=models, embedder="none", **windows) as service:
        yield service


OURS = "joined-"
"""How the tenants of this test are called."""


def session(chance, tenant, name):
    """Searches of one session and what happened after them."""
    searches, at = [], chance.randint(0, 300)
    for number in range(chance.randint(1, 4)):
        at += chance.choice([1, 30, 90, 150])
        query = chance.choice([CAT, PET, RAIN, GET])
        searches.append(
            decision(
                f"{name}-{number}", tenant=tenant, session=name, at=at, query=query,
                tokens_used=chance.choice([0, 1000, 200_000]),
            )
        )  # fmt: skip
    return searches, [
        one for search in searches for one in after(chance, tenant, name, search) if one
    ]


def after(chance, tenant, name, search):
    """What happened after one search: often nothing, sometimes several things, some too late."""
    done = int((search.completed_at - NOON).total_seconds())
    for topic, more in (
        ("context.usage", {"quality_score": chance.choice([0.0, 0.5, 1.0])}),
        ("feedback", {"quality_score": chance.choice([0.1, 0.9])}),
        ("query.refinements", {"new_query": chance.choice(["p", "q"])}),
        ("session.abandonments", {}),
    ):
        if chance.random() < 0.2:
            heard = done + chance.choice([1, 50, 99, 101, 900])
            if chance.random() < 0.05:
                heard = done + LATE_S
            whole = topic == "session.abandonments" and chance.random() < 0.5
            about = {} if whole else {"request_id": search.request_id}
            at = None if heard > done + 900 else chance.choice([None, done + 1])
            yield signal(
                topic, str(uuid.UUID(int=chance.getrandbits(128))), tenant=tenant, session=name,
                heard=heard, at=at, **more, **about,
            )  # fmt: skip


def written(event, shift):
    """Topic, key, value and time of an event, moved from noon to today."""
    if isinstance(event, Decision):
        topic, record, at = "internal.decisions", event, event.completed_at
    else:
        topic, record, at = (
            event.origin.topic.removeprefix("memory."),
            event.signal,
            event.received_at,
        )
    value = record.model_dump(mode="json", exclude_none=True)
    for name in ("started_at", "completed_at", "occurred_at"):
        if getattr(record, name, None) is not None:
            value[name] = (getattr(record, name) + shift).isoformat()
    key = f"{record.tenant_id}/{record.session_id}".encode()
    return topic, key, json.dumps(value).encode(), int((at + shift).timestamp() * 1000)


def shuffled(chance, events):
    """Let some come twice, and each somewhat earlier or later than it should."""
    repeated = events + [one for one in events if chance.random() < 0.1]
    places = [(number + chance.gauss(0, 50), number) for number in range(len(repeated))]
    return [repeated[number] for _, number in sorted(places)]


@pytest.mark.requirement("TR-1", "TR-2", "TR-3", "SE-1")
def test_every_label_is_that_of_the_log(service):
    chance = random.Random(5)
    # Whole seconds: what is written on a message is cut to milliseconds.
    shift = timedelta(seconds=int(time.time() - NOON.timestamp()) - 3600)
    oracles, events = {}, []
    names = (f"s{number}" for number in itertools.count())
    while sum(len(one.searches) for one in oracles.values()) < SEARCHES:
        tenant, name = f"{OURS}{chance.randint(0, 5)}", next(names)
        searches, heard = session(chance, tenant, name)
        oracles[name] = oracle = Oracle()
        for event in [*searches, *heard]:
            oracle.read(event)
        events += [*searches, *heard]
    client = Client(service.runtime["broker"], ("trajectories", "dead-letters"))
    log = shuffled(chance, events)
    told = defaultdict(list)
    for event in log:
        topic, key, value, at = written(event, shift)
        client._producer.produce(f"memory.{topic}", value, key=key, timestamp=at)
    assert client._producer.flush(30) == 0

    expected = {
        search.request_id: oracle.label(search)
        for oracle in oracles.values()
        for search in oracle.searches.values()
    }

    for share, harm in ((0.1, kill), (0.2, stop), (0.35, kill), (0.5, kill)):
        wait_for(lambda: len(named(client)) >= share * len(expected), "labels")  # noqa: B023
        harm(wait_for(service.worker, "a worker"))
        assert len(named(client)) < len(expected), "there was work left"

    def wrong():
        told.clear()
        for one in trajectories(client):
            told[one["request_id"]].append(one)
        last = {name: labels(sorted(many, key=_revision))[-1][2:] for name, many in told.items()}
        return {
            name: (last.get(name), label)
            for name, label in expected.items()
            if last.get(name) != label
        }

    wait_for(lambda: not wrong(), "every label to be right", 120)
    assert told.keys() == expected.keys()
    for many in told.values():
        # A relay that is killed publishes again, but never two things under one revision.
        distinct = {json.dumps(one, sort_keys=True) for one in many}
        revisions = sorted(json.loads(one)["revision"] for one in distinct)
        assert revisions == list(range(len(revisions)))
    late = {
        letter.value()
        for letter in client.dead_letters()
        if dict(letter.headers())["memstream-error-code"] == b"late"
        and f'"{OURS}'.encode() in letter.value()
    }
    assert len(late) == sum(oracle.dead()["late"] for oracle in oracles.values()) > 0
    repeated = sum(map(len, told.values())) - sum(
        len({one["revision"] for one in many}) for many in told.values()
    )
    print(
        f"{len(log)} events, {len(expected)} searches, {repeated} published again, {len(late)} late"
    )
    client.close()


def kill(worker):
    worker.kill()


def stop(worker):
    worker.suspend()
    time.sleep(STOPPED_S)
    worker.resume()


def named(client):
    return {one["request_id"] for one in trajectories(client)}


def trajectories(client):
    """Those of this test: others may use the same broker."""
    return [one for one in client.messages("trajectories") if one["tenant_id"].startswith(OURS)]


def _revision(trajectory):
    return trajectory["revision"]
