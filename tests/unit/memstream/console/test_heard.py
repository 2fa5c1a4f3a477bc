"""What was heard of searches: bounded, each tenant's apart, and only what was let through."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from memstream.console import heard as module
from memstream.console.contexts import Contexts
from memstream.console.heard import Heard, admission
from memstream.settings import Settings
from tests.unit.tokens import jwk, token, write_keys
from topics import TopicNames

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOBODY = Settings()


def take(heard, topic, fields, *, at=NOON, headers=()):
    value = json.dumps(
        {"event_id": f"e{topic}{at}", "tenant_id": "acme", "session_id": "s"} | fields
    )
    said = SimpleNamespace(
        topic=f"memory.{topic}",
        value=value.encode(),
        headers=headers,
        timestamp=int(1000 * at.timestamp()),
    )
    heard.take(said, 0)


def told(heard, tenant="acme", request="r1", session="s", since=NOON):
    return heard.of(tenant, request, session, since.isoformat())


@pytest.mark.requirement("TJ-1")
def test_every_kind_of_signal_is_told_in_the_order_of_time():
    heard, later = Heard(TopicNames(), admission(NOBODY)), NOON + timedelta(seconds=30)
    take(heard, "session.abandonments", {}, at=later)
    take(heard, "context.usage", {"request_id": "r1", "memory_ids": ["m1", "m2"]})
    used = {"request_id": "r1", "quality_score": 0.4, "occurred_at": "2026-11-16T12:00:10Z"}
    for _ in range(2):
        take(heard, "feedback", used)
    take(heard, "query.refinements", {"request_id": "r1", "new_query": "x" * 500})
    take(heard, "feedback", {"request_id": "r1", "quality_score": 2})
    take(heard, "feedback", {"request_id": "r2", "quality_score": 1}, at=later)
    found = told(heard)
    assert [one["kind"] for one in found] == [
        "context.usage",
        "query.refinements",
        "feedback",
        "session.abandonments",
    ]
    assert found[0]["memory_ids"] == ["m1", "m2"]
    assert len(found[1]["new_query"]) == module.SHOWN_CHARACTERS
    assert (found[2]["quality_score"], found[2]["at"]) == (0.4, "2026-11-16T12:00:10+00:00")
    assert found[3]["whole_session"]
    # A search that was made after its session was abandoned has nothing to do with that.
    assert told(heard, request="r9", since=later + timedelta(seconds=1)) == []
    assert told(heard, tenant="globex") == []


def test_only_so_much_is_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHES", 2)
    monkeypatch.setattr(module, "MOST_EACH", 3)
    heard = Heard(TopicNames(), admission(NOBODY))
    for number in range(3):
        take(heard, "feedback", {"request_id": f"r{number}", "quality_score": 1})
    assert [len(told(heard, request=f"r{number}")) for number in range(3)] == [0, 1, 1]
    for number in range(5):
        take(heard, "feedback", {"request_id": "r2", "quality_score": 1, "event_id": f"{number}"})
    assert len(told(heard, request="r2")) == 3
    heard.begin({})
    assert told(heard, request="r2") == []


@pytest.mark.requirement("SE-1")
def test_what_its_token_did_not_allow_when_it_was_sent_is_left_out(tmp_path):
    keys = write_keys(tmp_path / "keys.json", jwk("hs"))
    heard = Heard(TopicNames(), admission(Settings(auth="jwt", jwt_keys=keys)))
    sent = datetime.now(UTC) - timedelta(hours=2)

    def signed(tenant):
        begun = int(sent.timestamp())
        signed = token("hs", tenant=tenant, iat=begun, exp=begun + 3600)
        return [("authorization", b"Bearer " + signed.encode())]

    judged = {"request_id": "r1", "quality_score": 1}
    for headers in ((), signed("globex")):
        take(heard, "feedback", judged, at=sent, headers=headers)
    take(heard, "feedback", judged, at=sent + timedelta(hours=1.5), headers=signed("acme"))
    assert told(heard, since=sent) == []
    # It has expired since, and was good when it was sent.
    take(heard, "feedback", judged, at=sent, headers=signed("acme"))
    assert len(told(heard, since=sent)) == 1


def test_of_contexts_only_their_size_is_known():
    contexts = Contexts()
    for value in (
        {"tenant_id": "acme", "status": "ok", "tokens": 40, "context": "long"},
        {"tenant_id": "acme", "status": "error", "tokens": 0},
        {"tenant_id": "globex", "status": "ok", "tokens": 7},
        {},
    ):
        contexts.take(SimpleNamespace(value=json.dumps(value).encode()), 0)
    assert (contexts.of("acme"), contexts.of("globex"), contexts.of("nobody")) == ([40], [7], [])
