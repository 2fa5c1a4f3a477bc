"""The join on both stores: each event once, whatever comes first, within the tenant."""

import asyncio
import itertools
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learning.labelling import Labeller, Windows
from learning.rewards import RewardWeights
from models import Decision
from storage import StoreUnavailableError
from storage.postgres import PostgresStore, join_batch
from storage.postgres.connect import SERVICE_SETTINGS
from tests.integration.storage.aftermath import (
    CAT,
    GET,
    LABELLER,
    MUCH_LATER,
    NOON,
    PET,
    RAIN,
    Oracle,
    decide,
    decision,
    hear,
    labels,
    published,
    second,
    settle,
    signal,
)
from topics import TopicNames

USED = ("r", 0, "result_used", 1.0)


@pytest.mark.requirement("TR-1", "TR-2")
@pytest.mark.parametrize(
    ("heard", "label"),
    [
        (signal("context.usage", quality_score=0.7), ("result_used", 0.7)),
        (signal("feedback", quality_score=0.2), ("result_used", 0.2)),
        (signal("query.refinements"), ("query_refined", "other words")),
        (signal("session.abandonments", request_id="r"), ("result_ignored",)),
        (signal("session.abandonments"), ("result_ignored",)),
    ],
    ids=["use", "feedback", "refinement", "abandonment", "abandoned session"],
)
async def test_the_first_decisive_signal_labels_at_once(store, heard, label):
    await decide(store, decision())
    assert await published(store) == ([], [])
    joined = await hear(store, heard, at=second(21))
    assert joined.waited_s == [20]
    trajectories, _ = await published(store)
    assert labels(trajectories) == [("r", 0, *label)]
    # The same event again, and the end of the window, are no news.
    assert (await hear(store, heard)).duplicates == 1
    await settle(store, 101)
    assert await published(store) == ([], [])


@pytest.mark.requirement("TR-1", "TR-2")
@pytest.mark.parametrize(
    ("heard", "label"),
    [
        (signal("context.usage", quality_score=0.7), ("result_used", 0.7)),
        (signal("session.abandonments"), ("result_ignored",)),
    ],
    ids=["of the search", "of the session"],
)
async def test_a_signal_may_come_before_its_search(store, heard, label):
    joined = await hear(store, heard)
    assert joined.parked == (heard.request_id is not None)
    await settle(store, 119)
    await decide(store, decision())
    trajectories, letters = await published(store)
    assert labels(trajectories) == [("r", 0, *label)]
    assert letters == []
    await settle(store, 100_000)
    assert await published(store) == ([], [])


async def test_a_trace_and_what_came_of_searches_are_told_with_each_label(store):
    traced, untraced = decision(), decision("other", session="t")
    decided = [
        LABELLER.decided(traced, NOON, "00-aa-bb-01"),
        LABELLER.decided(untraced, NOON),
    ]
    await store.joins.decide(decided, LABELLER, NOON)
    told = []

    async def publish(messages):
        told.extend((one.value.decode(), dict(one.headers)) for one in messages)
        return ()

    for event in (signal("context.usage", "a"), signal("feedback", "b", quality_score=0.1)):
        joined = await hear(store, event)
        assert joined.outcomes == {("acme", "result_used"): 1}
    assert (await settle(store, 101)).outcomes == {("acme", "no_signal"): 1}
    await store.joins.relay(publish, 10, NOON)
    assert [headers for _, headers in told] == [*[{"traceparent": b"00-aa-bb-01"}] * 2, {}]
    assert not any("traceparent" in value for value, _ in told)


@pytest.mark.requirement("TR-2", "SE-1")
async def test_a_signal_without_a_search_is_kept_after_two_minutes(store):
    await decide(store, decision(tenant="umbrella"))
    await hear(store, signal("context.usage", "mine"))
    await hear(store, signal("session.abandonments", "whole"))
    await settle(store, 119)
    trajectories, letters = await published(store)
    assert (labels(trajectories), letters) == ([("r", 0, "no_signal")], [])
    joined = await settle(store, 10_000)
    assert joined.dead == {
        ("memory.context.usage", "dangling"): 1,
        ("memory.session.abandonments", "dangling"): 1,
    }
    _, letters = await published(store)
    assert [(one.key, one.value) for one in letters] == [(b"key", b"mine"), (b"key", b"whole")]
    headers = dict(letters[0].headers)
    assert (headers["trace"], headers["none"]) == (b"\xff", None)
    assert headers["memstream-error-code"] == b"dangling"
    assert headers["memstream-error-offset"] == b"7"
    # Replayed when its search is there, it has its effect.
    await decide(store, decision())
    assert (await hear(store, signal("context.usage", "mine"))).duplicates == 0
    trajectories, _ = await published(store)
    assert labels(trajectories) == [USED]


@pytest.mark.requirement("TR-2")
async def test_a_search_read_long_after_its_window_waits_for_what_was_there_to_be_read(store):
    await decide(store, decision(), at=second(500))
    # Its window ended long before, but only what was there after 499 seconds has been read.
    assert (await settle(store, 499)).settled == 0
    await hear(store, signal("context.usage", "a"), at=second(500))
    assert [one[2] for one in labels((await published(store))[0])] == ["result_used"]
    await decide(store, decision("other", session="other"), at=second(500))
    assert (await settle(store, 500)).outcomes == {("acme", "no_signal"): 1}


@pytest.mark.requirement("TR-2")
async def test_a_late_signal_corrects_and_a_later_one_is_kept(store):
    await decide(store, decision())
    await settle(store, 101)
    joined = await hear(store, signal("context.usage", "in time", heard=1101, quality_score=0.5))
    assert joined.corrected == 1
    await hear(store, signal("context.usage", "worse", heard=1101, quality_score=0.4))
    joined = await hear(store, signal("feedback", "too late", heard=1102))
    assert joined.dead == {("memory.feedback", "late"): 1}
    trajectories, letters = await published(store)
    assert labels(trajectories) == [("r", 0, "no_signal"), ("r", 1, "result_used", 0.5)]
    assert [one.value for one in letters] == [b"too late"]
    assert [one["trainable"] for one in trajectories] == [False, True]
    assert [one["reward"] for one in trajectories] == [0.3, 0.8]


@pytest.mark.requirement("TJ-1", "TJ-3", "TR-3")
async def test_a_trajectory_has_all_of_its_decision_but_how_it_ended(store):
    searched = decision(tokens_used=50_000, query='"quoted" – ünïcode')
    await decide(store, searched)
    await hear(store, signal("context.usage"))
    (trajectory,), _ = await published(store)
    kept = searched.model_dump(mode="json", exclude={"succeeded", "seed", "asked_at"})
    assert {name: trajectory.pop(name) for name in kept} == kept
    assert trajectory == {
        "revision": 0,
        "outcome": {"type": "result_used", "quality_score": 1.0, "new_query": None},
        "used": ["m"],
        "reward": 1.0,
        "trainable": True,
        "labelled_at": "2026-11-17T12:00:00Z",
    }


@pytest.mark.requirement("TR-1")
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_the_next_search_of_the_session_decides_whichever_comes_first(store, order):
    searches = [decision("a"), decision("b", at=5, query=RAIN), decision("c", at=9, query=PET)]
    await decide(store, decision("x", session="other", at=2, query=PET))
    for number in order:
        await decide(store, searches[number])
    await settle(store, 300)
    trajectories, _ = await published(store)
    last = {one[0]: one[2:] for one in labels(trajectories)}
    assert last == {
        "a": ("result_ignored",),
        "b": ("result_ignored",),
        "c": ("no_signal",),
        "x": ("no_signal",),
    }
    assert last == {one[0]: one[2:] for one in sorted(labels(trajectories))}


@pytest.mark.requirement("TR-1", "TR-2")
async def test_a_reworded_query_is_a_refinement_unless_the_result_was_used(store):
    await decide(store, decision("a"), decision("b", session="used"))
    await hear(store, signal("context.usage", request_id="b", session="used"))
    await decide(store, decision("a2", at=60, query=PET))
    await decide(store, decision("b2", session="used", at=60, query=PET))
    await decide(store, decision("c", session="slow"), decision("c2", session="slow", at=102))
    trajectories, _ = await published(store)
    assert labels(trajectories) == [
        ("b", 0, "result_used", 1.0),
        ("a", 0, "query_refined", PET),
    ]


@pytest.mark.requirement("TR-2")
async def test_of_an_abandoned_session_only_what_was_open_is_ignored(store):
    await hear(store, signal("session.abandonments", at=150, heard=160))
    await decide(store, decision("over"), decision("open", at=120), decision("later", at=151))
    await decide(store, decision("theirs", tenant="umbrella", at=120))
    await decide(store, decision("elsewhere", session="other", at=120))
    trajectories, _ = await published(store)
    assert labels(trajectories) == [("open", 0, "result_ignored")]


@pytest.mark.requirement("SE-1")
async def test_a_signal_of_another_tenant_has_no_effect(store):
    for tenant in ("acme", "umbrella"):
        await decide(store, decision(tenant=tenant))
    await decide(store, decision("only", tenant="umbrella", session="o"))
    await hear(store, signal("context.usage"), signal("context.usage", "f", request_id="only"))
    await hear(store, signal("session.abandonments"))
    trajectories, _ = await published(store)
    assert [(one["tenant_id"], one["request_id"]) for one in trajectories] == [("acme", "r")]
    await settle(store, 121)
    trajectories, letters = await published(store)
    assert {(one["tenant_id"], one["outcome"]["type"]) for one in trajectories} == {
        ("umbrella", "no_signal")
    }
    assert [one.value for one in letters] == [b"f"]


async def test_what_can_no_longer_be_corrected_is_forgotten(store):
    await decide(store, decision())
    await settle(store, 1320)
    assert (await settle(store, 1320)).settled == 0
    assert (await settle(store, 1321)).settled == 1
    # A decision that comes again does not open it again.
    assert (await decide(store, decision())).duplicates == 1
    await settle(store, 10_000)
    trajectories, _ = await published(store)
    assert labels(trajectories) == [("r", 0, "no_signal")]


@pytest.mark.requirement("TR-2", "SE-1")
async def test_a_signal_about_a_forgotten_search_is_late_at_once(store):
    await decide(store, decision(), decision("other", tenant="umbrella"))
    await settle(store, 1101)
    assert (await settle(store, 1321)).settled == 2
    joined = await hear(
        store, signal("feedback", "f", heard=1400), signal("feedback", "g", request_id="other")
    )
    # Of another tenant's search nothing is known, forgotten or not.
    assert (joined.dead, joined.parked) == ({("memory.feedback", "late"): 1}, 1)
    _, letters = await published(store)
    assert [one.value for one in letters] == [b"f"]
    assert (await hear(store, signal("feedback", "f", heard=1400))).duplicates == 1
    assert (await settle(store, 100_000)).dead == {("memory.feedback", "dangling"): 1}


@pytest.mark.requirement("TR-2")
async def test_when_a_sessions_end_is_forgotten_what_it_ended_is_still_known(store):
    # With short windows a search could be forgotten before the end of its session is.
    windows = Windows(timedelta(seconds=5), timedelta(seconds=1))
    quick = Labeller(windows, RewardWeights(), TopicNames(), lambda: NOON)
    await store.joins.decide([quick.decided(decision(), NOON)], quick, NOON)
    await store.joins.hear([signal("session.abandonments", heard=5)], quick, second(5))
    for until in range(0, 400, 10):
        joined = await store.joins.settle(second(until), quick, MUCH_LATER, 1000)
        assert joined.dead == {}
    assert (await store.joins.join_health()).open == 0
    trajectories, letters = await published(store)
    assert (labels(trajectories), letters) == ([("r", 0, "result_ignored")], [])


@pytest.mark.requirement("TR-1", "TR-2")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_searches_of_a_session_are_in_the_order_in_which_they_were_asked_for(store, order):
    # The first took the slow lane: it began, and ended, after the second.
    both = [
        decision("first", at=50, query=CAT, asked_at=second(0)),
        decision("second", at=2, query=PET, asked_at=second(1)),
    ]
    for place in order:
        await decide(store, both[place])
    await settle(store, 100_000)
    trajectories, _ = await published(store)
    newest = {one["request_id"]: one["outcome"]["type"] for one in trajectories}
    assert newest == {"first": "query_refined", "second": "no_signal"}
    # A trajectory says when a search began, as it always did.
    assert {one["started_at"] for one in trajectories} == {
        *("2026-11-16T12:00:50Z", "2026-11-16T12:00:02Z")
    }
    assert not any("asked_at" in one for one in trajectories)


@pytest.mark.requirement("TR-2")
async def test_a_session_that_was_left_before_its_search_began_is_left(store):
    await decide(store, decision(at=60, asked_at=second(0)))
    await hear(store, signal("session.abandonments", heard=10))
    trajectories, _ = await published(store)
    assert labels(trajectories) == [("r", 0, "result_ignored")]


async def test_what_could_not_be_published_is_published_later(store):
    async def fail(_):
        raise ConnectionError

    await decide(store, decision())
    await hear(store, signal("context.usage"))
    health = await store.joins.join_health()
    assert (health.open, health.parked, health.outbox, health.oldest_at) == (0, 0, 1, NOON)
    with pytest.raises(Exception):  # noqa: B017 — a store may take it for its own failure
        await store.joins.relay(fail, 10, NOON)
    trajectories, _ = await published(store)
    assert labels(trajectories) == [USED]
    assert (await store.joins.join_health()).outbox == 0


async def test_what_the_broker_refuses_is_kept_out_of_the_way_and_can_be_tried_again(store):
    async def refuse_acme(messages):
        return [place for place, one in enumerate(messages) if b'"acme"' in one.value]

    await decide(store, decision(), decision(tenant="umbrella"))
    await hear(store, signal("context.usage"), signal("context.usage", tenant="umbrella"))
    assert await store.joins.relay(refuse_acme, 10, NOON) == 2
    health = await store.joins.join_health()
    assert (health.outbox, health.oldest_at, health.refused) == (0, None, 1)
    assert await published(store) == ([], [])
    assert await store.joins.release(NOON - timedelta(seconds=1)) == 0
    assert await store.joins.release(NOON) == 1
    trajectories, _ = await published(store)
    assert [one["tenant_id"] for one in trajectories] == ["acme"]
    assert (await store.joins.join_health()).refused == 0


async def test_what_fails_half_way_leaves_nothing_and_can_be_done_again(store, monkeypatch):
    await decide(store, decision())

    def fail(*_):
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(LABELLER, "publication", fail)
        with pytest.raises(RuntimeError):
            await hear(store, signal("context.usage"))
    assert (await hear(store, signal("context.usage"))).duplicates == 0
    trajectories, _ = await published(store)
    assert labels(trajectories) == [USED]


@pytest.mark.requirement("TR-2")
async def test_searches_and_signals_that_meet_at_the_same_moment_do_not_miss_each_other(store):
    names = [f"r{n}" for n in range(60)]
    uses = [signal("context.usage", f"e-{name}", request_id=name) for name in names]
    said = [signal("feedback", f"e-{name}", request_id=name, quality_score=0.4) for name in names]
    half = len(names) // 2
    searches = [decision(name, session=name) for name in names]
    await asyncio.gather(
        *(decide(store, *part) for part in (searches[:half], searches[half:], searches[10:40])),
        *(hear(store, *part) for part in (uses[half:], uses[:half], said[:half], said[half:])),
    )
    trajectories, letters = await published(store)
    last = {one[0]: one[2:] for one in sorted(labels(trajectories))}
    assert (last, letters) == (dict.fromkeys(names, ("result_used", 0.4)), [])


TENANTS = (f"tenant-{n}-" for n in itertools.count())
FEW = st.sampled_from
NAMES = ["a", "b", "c", "d"]
COMMON = {
    "tenant": FEW(["x", "x", "x", "y"]),
    "session": FEW(["s", "s", "t"]),
}
DECISIONS = st.builds(
    dict, request_id=FEW(NAMES), at=FEW([0, 5, 5, 50, 101, 130]), took=FEW([0, 1, 30]),
    query=FEW([CAT, PET, RAIN, GET]), asked_at=FEW([None, second(0), second(4), second(100)]),
    **COMMON,
)  # fmt: skip
TIMES = {"heard": FEW([1, 10, 60, 105, 1000, 1120, 1500]), "at": FEW([None, None, 0, 7, 55, 120])}
HEARD = st.one_of(
    st.builds(dict, topic=st.just("context.usage"), request_id=FEW(NAMES), event_id=FEW("uvw"),
              quality_score=FEW([0.0, 0.5, 1.0]), memory_ids=FEW([("m",), ("m",), ()]),
              **TIMES, **COMMON),
    st.builds(dict, topic=st.just("feedback"), request_id=FEW(NAMES), event_id=FEW("uvw"),
              quality_score=FEW([0.1, 0.9]), **TIMES, **COMMON),
    st.builds(dict, topic=st.just("query.refinements"), request_id=FEW(NAMES), event_id=FEW("uvw"),
              new_query=FEW(["p", "q"]), **TIMES, **COMMON),
    st.builds(dict, topic=st.just("session.abandonments"), request_id=FEW([*NAMES, None, None]),
              event_id=FEW("uvw"), **TIMES, **COMMON),
)  # fmt: skip


def unique(events):
    """Leave one content for each name: which of two counts is not what is tested here."""
    kept = {}
    for event in events:
        own = event.request_id if isinstance(event, Decision) else event.signal.event_id
        tenant = getattr(event, "tenant_id", None) or event.signal.tenant_id
        kept.setdefault((tenant, getattr(event, "kind", "search"), own), event)
    return list(kept.values())


@pytest.mark.requirement("TR-1", "TR-2", "SE-1")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    decisions=st.lists(DECISIONS, min_size=1, max_size=6),
    heard=st.lists(HEARD, max_size=8),
    data=st.data(),
)
async def test_labels_are_those_of_the_log_whatever_the_order(store, decisions, heard, data):
    unlike = next(TENANTS)
    events = unique(
        [
            *(decision(**{**one, "tenant": unlike + one["tenant"]}) for one in decisions),
            *(signal(**{**one, "tenant": unlike + one["tenant"]}) for one in heard),
        ]
    )
    oracle = Oracle()
    for event in events:
        oracle.read(event)
    repeated = events + data.draw(st.lists(st.sampled_from(events), max_size=4))
    log = data.draw(st.permutations(repeated))
    # Too early a sweep is put right by what comes after it.
    sweeps = data.draw(st.lists(FEW([None, None, 50, 150, 250]), min_size=20, max_size=20))
    for kind, group in itertools.groupby(log, lambda event: getattr(event, "kind", None)):
        batch = list(group)
        for part in (batch[:2], batch[2:]):
            if part:
                await (hear if kind else decide)(store, *part, at=MUCH_LATER)
        if (sweep := sweeps.pop()) is not None:
            await settle(store, sweep)
    await settle(store, 86_400 + 121 + 100)
    trajectories, letters = await published(store)
    told = {}
    for one in trajectories:
        told.setdefault((one["tenant_id"], one["request_id"]), []).append(one)
    assert {name: labels(many)[-1][2:] for name, many in told.items()} == {
        name: oracle.label(search) for name, search in oracle.searches.items()
    }
    for many in told.values():
        assert [one["revision"] for one in many] == list(range(len(many)))
        outcomes = [(one["outcome"], one["used"]) for one in many]
        assert all(one != other for one, other in itertools.pairwise(outcomes))
    codes = [dict(one.headers)["memstream-error-code"].decode() for one in letters]
    assert sorted(codes) == sorted(oracle.dead().elements())


async def test_a_worker_that_is_stopped_in_the_middle_holds_up_others_only_for_a_while(
    emptied_postgres, monkeypatch
):
    monkeypatch.setitem(SERVICE_SETTINGS, "idle_in_transaction_session_timeout", "1s")
    stopped, other = [await PostgresStore.open(emptied_postgres) for _ in range(2)]
    await decide(stopped, decision())
    await hear(stopped, signal("context.usage"))

    async def stop(_):
        await asyncio.sleep(3)

    relaying = asyncio.create_task(stopped.joins.relay(stop, 10, NOON))
    await asyncio.sleep(0.5)
    assert await published(other) == ([], []), "it is being published"
    with pytest.raises(StoreUnavailableError):
        await relaying
    trajectories, _ = await published(other)
    assert labels(trajectories) == [USED]
    for store in (stopped, other):
        await store.ping()
        await store.close()


@pytest.mark.requirement("TR-2")
@pytest.mark.parametrize("query", [PET, RAIN])
async def test_who_waits_for_another_judge_sees_what_that_one_saw(
    emptied_postgres, monkeypatch, query
):
    store = await PostgresStore.open(emptied_postgres)
    await decide(store, decision("a"))
    record, judged, go_on = join_batch.JoinBatch._record, asyncio.Event(), asyncio.Event()

    async def wait_once(*arguments):
        await record(*arguments)
        if not judged.is_set():
            judged.set()
            await go_on.wait()

    monkeypatch.setattr(join_batch.JoinBatch, "_record", wait_once)
    deciding = asyncio.create_task(decide(store, decision("b", at=5, query=query)))
    await judged.wait()
    abandoned = signal("session.abandonments", request_id="a")
    hearing = asyncio.create_task(hear(store, abandoned))
    await asyncio.sleep(0.3)
    assert not hearing.done()
    go_on.set()
    await asyncio.gather(deciding, hearing)
    await settle(store, 300)
    trajectories, _ = await published(store)
    last = {one[0]: one[2:] for one in labels(trajectories)}
    assert last["a"] == (("query_refined", PET) if query == PET else ("result_ignored",))
    await store.close()


@pytest.mark.requirement("TR-2")
async def test_a_search_and_the_end_of_its_session_do_not_miss_each_other_beside_a_sweep(
    emptied_postgres, monkeypatch
):
    """Neither sees the other before it is committed, and a sweep in between sees only one."""
    store = await PostgresStore.open(emptied_postgres)
    park, ended, go_on = join_batch.JoinBatch._park, asyncio.Event(), asyncio.Event()

    async def wait(*arguments):
        await park(*arguments)
        ended.set()
        await go_on.wait()

    monkeypatch.setattr(join_batch.JoinBatch, "_park", wait)
    ending = asyncio.create_task(hear(store, signal("session.abandonments")))
    await ended.wait()
    others = decision(session="another", request_id="other")
    await decide(store, others)
    deciding = asyncio.create_task(decide(store, decision()))
    await asyncio.wait({deciding}, timeout=0.5)
    await settle(store, 300)
    go_on.set()
    await asyncio.gather(ending, deciding)
    await settle(store, 300)
    trajectories, _ = await published(store)
    last = {one[0]: one[2:] for one in labels(trajectories)}
    assert last == {"r": ("result_ignored",), "other": ("no_signal",)}
    await store.close()


@pytest.mark.requirement("TR-2", "SE-1")
async def test_a_batch_of_many_tenants_keeps_their_events_apart(store):
    tenants = [f"tenant {number}" for number in range(40)]
    early, on_time = tenants[::2], tenants[1::2]
    # All have the same request and event ids; of each second one the signal comes first.
    uses = {
        name: signal("context.usage", tenant=name, quality_score=number / 40)
        for number, name in enumerate(tenants)
    }
    waiting = await hear(store, *(uses[name] for name in reversed(early)), uses[early[0]])
    assert (waiting.parked, waiting.duplicates) == (20, 1)
    await decide(store, *(decision(tenant=name) for name in tenants), decision(tenant=tenants[3]))
    heard = await hear(store, *(uses[name] for name in on_time), uses[early[1]])
    assert (heard.parked, heard.duplicates) == (0, 1)
    trajectories, letters = await published(store)
    assert letters == []
    found = {one["tenant_id"]: one["outcome"]["quality_score"] for one in trajectories}
    assert len(trajectories) == len(found) == 40
    assert found == {name: number / 40 for number, name in enumerate(tenants)}
    await decide(store, *(decision("next", tenant=name, at=5, query=RAIN) for name in tenants))
    assert (await settle(store, 300)).settled >= 40
    trajectories, _ = await published(store)
    assert {one["tenant_id"] for one in trajectories} == set(tenants)
    assert set(labels(trajectories)) == {("next", 0, "no_signal")}


async def test_batches_of_the_same_sessions_do_not_wait_for_each_other_in_a_circle(
    emptied_postgres,
):
    store = await PostgresStore.open(emptied_postgres)
    pairs = [(tenant, number) for tenant in ("acme", "umbrella") for number in range(60)]
    searches = [decision(f"r{n:02}", tenant=name, at=n, query=RAIN) for name, n in pairs]
    uses = [
        signal("context.usage", f"e{n}", tenant=name, request_id=f"r{n:02}") for name, n in pairs
    ]
    judged = [signal("feedback", f"e{n}", tenant=name, request_id=f"r{n:02}") for name, n in pairs]
    # A circle would be a StoreUnavailableError after PostgreSQL's deadlock_timeout.
    for start in range(4):
        share = slice(start, None, 4)
        await asyncio.gather(
            decide(store, *searches[share]),
            hear(store, *reversed(uses[share])),
            hear(store, *judged[share]),
            hear(store, *(judged[(start + 1) % 4 :: 4])),
        )
    trajectories, letters = await published(store)
    assert letters == []
    last = {
        (one["tenant_id"], *label[:1]): label[2:]
        for one, label in zip(trajectories, labels(trajectories), strict=True)
    }
    assert last == {(name, f"r{n:02}"): ("result_used", 0.5) for name, n in pairs}
    await store.close()
