"""The join's agents: what is read is joined once, and what comes of it is published."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from agents import patience
from agents.delivery import TooLargeError
from agents.feedback import FeedbackAgent
from agents.outcomes import DecisionsAgent, SignalsAgent
from agents.relay import TRY_AGAIN_AFTER, Relay
from agents.sweeper import Sweeper
from agents.tenant_labels import TenantLabels
from agents.usage import UsageAgent
from models import QueryRefinement, SessionAbandonment
from storage import StoreUnavailableError
from tests.integration.storage.aftermath import decision
from tests.unit.agents.conftest import NOON, WINDOW, delivery


@pytest.fixture
def agents(store, dead_letters, outcomes):
    return {
        "internal.decisions": DecisionsAgent(outcomes, dead_letters),
        "context.usage": UsageAgent(store, outcomes, dead_letters),
        "feedback": FeedbackAgent(store, outcomes, dead_letters),
        "query.refinements": SignalsAgent(QueryRefinement, outcomes, dead_letters),
        "session.abandonments": SignalsAgent(SessionAbandonment, outcomes, dead_letters),
    }


@pytest.fixture
def relay(outcomes, published):
    return Relay(outcomes, published, lambda: NOON)


class Clock:
    """A clock that is moved by hand."""

    at = NOON

    def __call__(self):
        return self.at


class Read:
    """A join whose input has been read until a moment."""

    def __init__(self, until, **lag):
        self.until = until
        self.lag = lag

    async def read_until(self):
        return self.until


def searched(request_id="r", **fields):
    search = decision(request_id, **fields)
    value = search.model_dump_json().encode()
    return delivery(value, topic="memory.internal.decisions")


def told(topic, event_id="e", headers=(), **fields):
    named = {"event_id": event_id, "tenant_id": "acme", "session_id": "s", "request_id": "r"}
    return delivery(named | fields, topic=f"memory.{topic}", headers=headers)


SIGNALS = {
    "context.usage": ({"memory_ids": ["m"], "quality_score": 0.6}, "result_used"),
    "feedback": ({"quality_score": 0.6}, "result_used"),
    "query.refinements": ({"new_query": "other words"}, "query_refined"),
    "session.abandonments": ({}, "result_ignored"),
}


def metric(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def trajectories(published):
    return [json.loads(value) for _, _, value, _ in published.on("trajectories")]


@pytest.mark.requirement("TR-1", "TR-2")
@pytest.mark.parametrize("topic", SIGNALS)
@pytest.mark.parametrize("signal_first", [False, True])
async def test_a_search_and_a_signal_make_one_trajectory(
    agents, relay, published, topic, signal_first
):
    fields, outcome = SIGNALS[topic]
    steps = [("internal.decisions", searched()), (topic, told(topic, **fields))]
    for name, one in reversed(steps) if signal_first else steps:
        for _ in range(2):
            await agents[name]([one, one])
    await relay.empty()
    (trajectory,) = trajectories(published)
    assert trajectory["outcome"]["type"] == outcome
    assert [key for _, key, _, _ in published.on("trajectories")] == [b"acme"]
    await relay.empty()
    assert len(published.messages) == 1


async def test_what_was_done_is_counted(agents, published, relay):
    before = {
        name: metric(name)
        for name in (
            "memstream_join_duplicates_total",
            "memstream_label_seconds_count",
            "memstream_signals_parked_total",
        )
    }
    corrected = metric("memstream_labels_total", revision="corrected")
    await agents["internal.decisions"]([searched(), searched()])
    await agents["feedback"]([told("feedback", quality_score=0.1)])
    await agents["feedback"]([told("feedback", "f", quality_score=0.2)])
    await agents["feedback"]([told("feedback", "g", request_id="later", quality_score=0.2)])
    assert metric("memstream_signals_parked_total") == before["memstream_signals_parked_total"] + 1
    assert (
        metric("memstream_join_duplicates_total") == before["memstream_join_duplicates_total"] + 1
    )
    assert metric("memstream_label_seconds_count") == before["memstream_label_seconds_count"] + 1
    assert metric("memstream_labels_total", revision="corrected") == corrected + 1


@pytest.mark.requirement("TR-2")
async def test_a_signal_without_a_search_is_kept_as_it_came_but_its_token(
    agents, outcomes, relay, published, store
):
    headers = [("authorization", b"Bearer secret"), ("traceparent", b"00-1")]
    alone = told("context.usage", headers=headers, memory_ids=["m"])
    kept = {"topic": "memory.context.usage", "code": "dangling"}
    before = metric("memstream_dead_letters_total", **kept)
    await agents["context.usage"]([alone])
    stored = store._database.execute("SELECT * FROM parked_signals").fetchall()
    assert stored
    assert "secret" not in repr(stored)
    await Sweeper(outcomes, Read(NOON + timedelta(seconds=119)), lambda: NOON).sweep()
    await relay.empty()
    assert published.messages == []
    await Sweeper(outcomes, Read(NOON + timedelta(seconds=120)), lambda: NOON).sweep()
    await relay.empty()
    ((_, key, value, headers),) = published.on("dead-letters")
    assert (key, value) == (alone.key, alone.value)
    assert (headers["authorization"], headers["traceparent"]) == (b"redacted", b"00-1")
    assert headers["memstream-error-code"] == b"dangling"
    assert metric("memstream_dead_letters_total", **kept) == before + 1


@pytest.mark.requirement("TR-2")
async def test_windows_end_only_when_all_has_been_read(agents, outcomes, relay, published):
    await agents["internal.decisions"]([searched("a"), searched("b", at=5, query="weather")])
    for until in (None, NOON + timedelta(seconds=100)):
        await Sweeper(outcomes, Read(until), lambda: NOON).sweep()
        await relay.empty()
        assert published.messages == []
    await Sweeper(outcomes, Read(NOON + timedelta(seconds=106)), lambda: NOON).sweep()
    await relay.empty()
    assert [one["outcome"]["type"] for one in trajectories(published)] == [
        "result_ignored",
        "no_signal",
    ]


async def test_the_health_of_the_join_is_told(agents, outcomes):
    await agents["internal.decisions"]([searched("a"), searched("b", session="t")])
    await agents["feedback"]([told("feedback", request_id="a", quality_score=1)])
    await agents["feedback"]([told("feedback", "f", request_id="unknown", quality_score=1)])
    await Sweeper(outcomes, Read(None), lambda: NOON + WINDOW).look()
    assert metric("memstream_open_trajectories") == 1
    assert metric("memstream_parked_signals") == 1
    assert metric("memstream_outbox_messages") == 1
    assert metric("memstream_outbox_age_seconds") == 100


async def test_how_far_behind_the_join_is_is_told_also_while_the_broker_is_away(outcomes):
    class Away(Read):
        async def read_until(self):
            raise ConnectionError("away")

    sweeper = Sweeper(outcomes, Read(NOON), lambda: NOON + timedelta(seconds=5))
    await sweeper.sweep()
    assert metric("memstream_join_behind_seconds") == 5
    assert metric("memstream_part_up", part="broker") == 1
    sweeper._progress, sweeper._clock = Away(NOON), lambda: NOON + timedelta(seconds=65)
    with pytest.raises(ConnectionError):
        await sweeper.sweep()
    assert metric("memstream_join_behind_seconds") == 65
    assert metric("memstream_part_up", part="broker") == 0


@pytest.mark.requirement("OB-5")
async def test_whether_the_store_answers_is_told(outcomes, monkeypatch):
    async def settle(*_):
        raise StoreUnavailableError("gone")

    sweeper = Sweeper(outcomes, Read(NOON), lambda: NOON)
    await sweeper.sweep()
    assert metric("memstream_part_up", part="store") == 1
    monkeypatch.setattr(outcomes, "settle", settle)
    with pytest.raises(StoreUnavailableError):
        await sweeper.sweep()
    assert metric("memstream_part_up", part="store") == 0


@pytest.mark.requirement("OB-4")
async def test_what_came_of_searches_is_counted_for_so_many_tenants(agents, outcomes):
    outcomes.labels = TenantLabels(1)
    for tenant in ("counted", "beyond"):
        value = decision("r", tenant=tenant).model_dump_json().encode()
        await agents["internal.decisions"]([delivery(value, topic="memory.internal.decisions")])
        await agents["feedback"]([told("feedback", tenant_id=tenant, quality_score=1)])
    name, used = "memstream_outcomes_total", {"outcome": "result_used"}
    assert metric(name, tenant="counted", **used) == 1
    assert metric(name, tenant="beyond", **used) == 0
    assert metric(name, tenant="other", **used) >= 1


async def test_a_decision_may_be_larger_than_what_others_may_send(agents, outcomes, published):
    large = "x" * 8000
    action = {
        "kind": "Search", "params": {"text": large * 200}, "depth": 0, "tokens": 0,
        "duration_ms": 1, "result_count": 0, "propensity": 1, "started_at": NOON.isoformat(),
    }  # fmt: skip
    value = json.loads(searched().value) | {"actions": [action]}
    await agents["internal.decisions"]([delivery(value, topic="memory.internal.decisions")])
    assert published.messages == []
    assert (await outcomes.joins.join_health()).open == 1


async def test_counting_and_joining_are_each_done_once_if_one_fails(
    agents, store, relay, published, monkeypatch
):
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.001)
    await agents["internal.decisions"]([searched()])
    heard, calls = store.joins.hear, []

    async def away_at_first(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise StoreUnavailableError("gone for a moment")
        return await heard(*arguments)

    monkeypatch.setattr(store.joins, "hear", away_at_first)
    await agents["context.usage"]([told("context.usage", memory_ids=["m"])])
    await relay.empty()
    assert len(calls) == 2
    assert len(trajectories(published)) == 1


async def test_what_is_published_is_tried_again_and_what_is_too_large_is_kept(
    agents, outcomes, relay, published, monkeypatch
):
    before = metric("memstream_too_large_total", topic="memory.trajectories")
    monkeypatch.setattr("agents.relay.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("agents.relay.LOOK_AGAIN_S", 0.001)
    await agents["internal.decisions"]([searched("a"), searched("b", session="t")])
    for name in "ab":
        event = told("feedback", name, request_id=name, quality_score=1)
        await agents["feedback"]([event])
    publish, failures = published.publish, [ConnectionError(), None, TooLargeError()]
    done = asyncio.Event()

    async def moody(*arguments, **fields):
        failure = failures.pop(0) if failures else None
        if failure:
            raise failure
        await publish(*arguments, **fields)
        done.set()

    monkeypatch.setattr(published, "publish", moody)
    running = asyncio.create_task(relay.run())
    await asyncio.wait_for(done.wait(), 10)
    while (await relay._outcomes.joins.join_health()).outbox:
        pass
    running.cancel()
    # The first time one got through and the other did not; the second time one was too large.
    assert [one["request_id"] for one in trajectories(published)] == ["b", "b"]
    assert metric("memstream_too_large_total", topic="memory.trajectories") == before + 1
    health = await outcomes.joins.join_health()
    assert (health.outbox, health.refused) == (0, 1)
    # A worker that starts tries again: the topic may take more now.
    await relay.empty()
    assert len(trajectories(published)) == 2
    await Relay(outcomes, published, lambda: NOON).empty()
    assert [one["request_id"] for one in trajectories(published)] == ["b", "b", "a"]
    assert (await outcomes.joins.join_health()).refused == 0


async def test_what_was_refused_is_tried_again_after_a_while(agents, outcomes, published):
    clock = Clock()
    relay = Relay(outcomes, published, clock)
    await relay.empty()
    await agents["internal.decisions"]([searched("a")])
    await agents["feedback"]([told("feedback", "a", request_id="a", quality_score=1)])
    published.limited, published.largest, largest = "trajectories", 0, published.largest
    await relay.empty()
    published.largest = largest
    clock.at += TRY_AGAIN_AFTER - timedelta(seconds=1)
    await relay.empty()
    assert trajectories(published) == []
    clock.at += timedelta(seconds=1)
    await relay.empty()
    assert [one["request_id"] for one in trajectories(published)] == ["a"]


WEEK = timedelta(days=7)


@pytest.mark.requirement("TR-2", "SE-10")
@pytest.mark.parametrize("topic", ["internal.decisions", *SIGNALS])
async def test_what_is_too_old_to_be_known_has_no_effect_a_second_time(
    agents, store, outcomes, relay, published, topic
):
    first = searched() if topic == "internal.decisions" else told(topic, **SIGNALS[topic][0])
    await agents["internal.decisions"]([searched()])
    await agents[topic]([first])
    await relay.empty()
    published.messages.clear()
    # A week and an hour later it is forgotten, and no longer taken.
    outcomes._clock = lambda: datetime.now(UTC) + WEEK + timedelta(hours=1, seconds=9)
    await Sweeper(outcomes, Read(None), outcomes._clock).forget()
    assert store._database.execute("SELECT count(*) FROM inbox").fetchone() == (0,)
    kept = {"topic": f"memory.{topic}", "code": "late"}
    before = metric("memstream_dead_letters_total", **kept)
    await agents[topic]([first])
    await relay.empty()
    assert [headers["memstream-error-code"] for *_, headers in published.messages] == [b"late"]
    assert metric("memstream_dead_letters_total", **kept) == before + 1
    assert store._database.execute("SELECT count(*) FROM inbox").fetchone() == (0,)


async def test_nothing_is_forgotten_that_would_still_be_taken(agents, store, outcomes):
    await agents["internal.decisions"]([searched()])
    outcomes._clock = lambda: datetime.now(UTC) + WEEK
    await Sweeper(outcomes, Read(None), outcomes._clock).forget()
    assert store._database.execute("SELECT count(*) FROM inbox").fetchone() == (1,)


async def test_how_much_is_left_to_be_read_is_told(outcomes):
    for left in (7, 0):
        await Sweeper(outcomes, Read(None, items=left), lambda: NOON).sweep()
        assert metric("memstream_consumer_lag", topic="items") == left
