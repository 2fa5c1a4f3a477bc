"""How often memories were returned and used: once an event, within the tenant, on both stores."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from models import ContextUsage
from storage import Counts, Use
from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore
from storage.statements import migrations
from tests.integration.storage.directions import NOON, change, direction

LATER = NOON + timedelta(hours=1)
EARLIER = NOON - timedelta(days=1)


def use(event_id, *memory_ids, tenant="acme", at=NOON, occurred_at=None):
    usage = ContextUsage(
        event_id=event_id,
        tenant_id=tenant,
        session_id="s",
        request_id="r",
        memory_ids=memory_ids,
        occurred_at=occurred_at,
    )
    return Use(usage, at)


def used(count, at):
    return Counts(use_count=count, last_used_at=at)


@pytest.fixture
async def two(store):
    """Store memories of two tenants, some with the same id."""
    await store.apply([change(memory_id) for memory_id in ("a", "b", "c")])
    await store.apply([change(m, tenant_id="umbrella") for m in ("a", "theirs")])
    return store


@pytest.mark.requirement("SE-10")
async def test_being_returned_is_counted_once_a_request(two):
    await two.refer("acme", "r1", ["a", "b"], NOON)
    await two.refer("acme", "r1", ["a", "b"], LATER)
    await two.refer("acme", "r2", ["a", "missing"], LATER)
    await two.refer("umbrella", "r2", ["b"], LATER)
    assert await two.counts("acme", ["a", "b", "c", "missing"]) == {
        "a": Counts(2, LATER),
        "b": Counts(1, NOON),
        "c": Counts(),
    }
    assert await two.counts("umbrella", ["a", "b"]) == {"a": Counts()}


@pytest.mark.requirement("SE-10")
async def test_being_used_is_counted_once_an_event_however_often_it_is_delivered(two):
    first = use("e1", "a", "b")
    assert await two.use([first]) == 0
    assert await two.use([first]) == 0
    assert await two.use([first, use("e2", "a", at=LATER), first, use("e2", "a", at=LATER)]) == 0
    assert await two.counts("acme", ["a", "b", "c"]) == {
        "a": used(2, LATER),
        "b": used(1, NOON),
        "c": Counts(),
    }


@pytest.mark.requirement("SE-10")
async def test_being_returned_is_not_being_used(two):
    await two.refer("acme", "same", ["a"], NOON)
    await two.use([use("same", "b")])
    assert await two.counts("acme", ["a", "b"]) == {"a": Counts(1, NOON), "b": used(1, NOON)}


@pytest.mark.requirement("SE-10")
async def test_an_id_counts_once_an_event_and_an_empty_event_not_at_all(two):
    assert await two.use([use("e1", "a", "a", "missing", "missing"), use("e2")]) == 1
    assert await two.counts("acme", ["a"]) == {"a": used(1, NOON)}
    assert await two.use([]) == 0


@pytest.mark.requirement("SE-10")
async def test_of_an_event_with_two_contents_the_first_counts(two):
    await two.use([use("e", "a"), use("e", "b")])
    await two.use([use("e", "c")])
    assert await two.counts("acme", ["a", "b"]) == {"a": used(1, NOON), "b": Counts()}


@pytest.mark.requirement("SE-10")
async def test_a_late_event_counts_and_does_not_turn_back_the_time(two):
    await two.use([use("e1", "a", at=LATER)])
    await two.use([use("e2", "a", at=LATER, occurred_at=EARLIER), use("e3", "b", at=NOON)])
    await two.use([use("e4", "b", "c", at=NOON, occurred_at=EARLIER)])
    assert await two.counts("acme", ["a", "b", "c"]) == {
        "a": used(2, LATER),
        "b": used(2, NOON),
        "c": used(1, EARLIER),
    }


@pytest.mark.requirement("SE-10", "SE-1")
async def test_ids_of_another_tenant_have_no_effect_in_either(two):
    assert await two.use([use("e", "a", "theirs")]) == 1
    assert await two.counts("umbrella", ["a", "theirs"]) == {"a": Counts(), "theirs": Counts()}
    assert await two.counts("acme", ["a", "theirs"]) == {"a": used(1, NOON)}
    assert await two.use([use("e", "a", "theirs")]) == 0, "an event is counted once"
    # The same event id of another tenant is another event, in the same batch too.
    both = [use("x", "theirs"), use("x", "theirs", tenant="umbrella"), use("x", tenant="%")]
    assert await two.use(both) == 1
    assert await two.counts("umbrella", ["a", "theirs"]) == {"a": Counts(), "theirs": used(1, NOON)}


@pytest.mark.requirement("SE-10")
async def test_an_update_keeps_the_counts_and_a_deletion_drops_them(two):
    await two.refer("acme", "r1", ["a"], NOON)
    await two.use([use("e1", "a", at=LATER)])
    await two.apply([change("a", direction(0, 1), event_id="again", content="new")])
    assert await two.counts("acme", ["a"]) == {"a": Counts(1, NOON, 1, LATER)}
    await two.apply([change("a", event_id="gone", op="delete", content=None)])
    assert await two.counts("acme", ["a"]) == {}
    assert await two.use([use("e2", "a")]) == 1
    await two.apply([change("a", event_id="back")])
    assert await two.counts("acme", ["a"]) == {"a": Counts()}


@pytest.mark.requirement("SE-10")
async def test_what_fails_half_way_leaves_nothing_and_can_be_done_again(two):
    fine, poison = use("e1", "a"), use("e2", "a")
    object.__setattr__(poison.usage, "event_id", object())
    with pytest.raises(Exception):  # noqa: B017 — each database has its own
        await two.use([fine, poison])
    assert await two.counts("acme", ["a"]) == {"a": Counts()}
    await two.use([fine])
    assert await two.counts("acme", ["a"]) == {"a": used(1, NOON)}


@pytest.mark.requirement("SE-10")
async def test_workers_that_count_at_the_same_time_lose_and_repeat_nothing(two):
    events = [use(f"e{n}", *("abc" if n % 2 else "cba")) for n in range(40)]
    # Each event comes twice, as after a rebalance, and requests return the same memories.
    await asyncio.gather(
        *(two.use(events[n : n + 10]) for n in (0, 10, 20, 30, 0, 20)),
        *(two.refer("acme", f"r{n}", ["c", "a", "b"], NOON) for n in range(10)),
    )
    expected = Counts(10, NOON, 40, NOON)
    assert await two.counts("acme", ["a", "b", "c"]) == dict.fromkeys("abc", expected)


@pytest.mark.requirement("SE-1", "SE-10")
async def test_of_what_many_tenants_name_only_their_own_is_known(two):
    named = [("acme", "a"), ("umbrella", "a"), ("umbrella", "b"), ("nobody", "a"), ("acme", "a")]
    assert await two.unknown(named) == 2
    assert await two.unknown([]) == 0


async def test_an_event_of_the_largest_size_takes_a_moment(two):
    """A store that gives up after a while would be asked again for ever."""
    many = [f"m{n}" for n in range(20_000)]
    await two.apply([change(memory_id) for memory_id in many[:2000]])
    started = time.monotonic()
    assert await two.use([use("e", *many, occurred_at=datetime.min.replace(tzinfo=UTC))]) == 18_000
    assert time.monotonic() - started < 5
    first = used(1, datetime.min.replace(tzinfo=UTC))
    assert await two.counts("acme", ["m0"]) == {"m0": first}


@pytest.mark.requirement("SE-1", "SE-10")
async def test_the_wall_stops_a_count_for_another_tenant(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres)
    await store.apply([change("a"), change("a", tenant_id="umbrella")])
    settings = {"role": "memstream_app", "search_path": "memstream,public"}
    connection = await asyncpg.connect(emptied_postgres, server_settings=settings)
    # As count_uses does for its tenant, but having entered one and named the other.
    statement = """
        UPDATE memories SET use_count = use_count + 1, last_used_at = $2
        WHERE tenant_id = $1 AND memory_id = 'a' RETURNING memory_id
    """
    for tenant, counted in (("acme", 0), ("umbrella", 1)):
        async with connection.transaction():
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            rows = await connection.fetch(statement, "umbrella", NOON)
            assert len(rows) == counted
    await connection.close()
    assert await store.counts("acme", ["a"]) == {"a": Counts()}
    assert await store.counts("umbrella", ["a"]) == {"a": used(1, NOON)}
    await store.close()


async def test_memories_of_the_version_before_start_with_no_uses(tmp_path, monkeypatch):
    path = tmp_path / "memstream.db"
    every = migrations("storage.sqlite")
    monkeypatch.setattr("storage.sqlite.database.migrations", lambda _: every[:4])
    old = await SqliteStore.open(path)
    old._database.execute(
        "INSERT INTO memories (tenant_id, memory_id, change, layer, scope, kind, content,"
        " importance, confidence, decay_rate, entities, metadata, created_at, last_confirmed_at)"
        " VALUES ('acme', 'a', 1, 'user', 'global', 'fact', 'old', 5, 1, 0, '{}', '{}', ?, ?)",
        (NOON.isoformat(), NOON.isoformat()),
    )
    await old.close()
    monkeypatch.undo()
    store = await SqliteStore.open(path)
    assert await store.counts("acme", ["a"]) == {"a": Counts()}
    await store.use([use("e", "a")])
    assert await store.counts("acme", ["a"]) == {"a": used(1, NOON)}
    await store.close()
