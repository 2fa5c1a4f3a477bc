"""What was seen is forgotten after a while, on both stores: but for items, and none too soon."""

from datetime import timedelta

import asyncpg

from memstream.clock import now
from models import ContextUsage
from storage import Filter, Use
from tests.integration.storage.aftermath import decide, decision, hear, signal
from tests.integration.storage.directions import NOON, change

WEEK = timedelta(days=7)


def use(event_id, at):
    named = {"event_id": event_id, "tenant_id": "acme", "session_id": "s", "request_id": "r"}
    return Use(ContextUsage(**named, memory_ids=("a",)), at)


async def used(store):
    return (await store.counts("acme", ["a"]))["a"].use_count


async def test_what_was_seen_is_forgotten_once_it_is_old_but_for_items(store):
    await store.apply([change("a")])
    await store.refer("acme", "r", ["a"], NOON)
    await store.use([use("e", NOON)])
    await decide(store, decision())
    await hear(store, signal("context.usage", "e"))
    soon, later = now() - timedelta(minutes=1), now() + timedelta(minutes=1)
    assert await store.joins.forget_seen(soon, 10) == 0
    # References, uses, the decision and the signal, as many at a time as one likes.
    assert [await store.joins.forget_seen(later, 3) for _ in range(3)] == [3, 1, 0]
    # An item that comes again, however late, is known.
    await store.apply([change("a", content="changed")])
    (hit,) = await store.get("acme", ["a"], Filter(at=NOON))
    assert hit.content != "changed"


async def test_a_message_of_long_ago_is_known_for_as_long_as_one_of_today(store):
    """What is read late, as after an outage, may be delivered again at once."""
    await store.apply([change("a")])
    await store.use([use("old", now() - 10 * WEEK)])
    assert await store.joins.forget_seen(now() - WEEK, 10) == 0
    await store.use([use("old", now() - 10 * WEEK)])
    assert await used(store) == 1


async def test_a_message_of_the_future_is_known_until_it_is_old(store):
    """Its producer's clock is wrong: by the time on it, it would be taken again for long."""
    await store.apply([change("a")])
    await store.use([use("ahead", now() + WEEK), use("right", now())])
    assert await store.joins.forget_seen(now() + timedelta(days=1), 10) == 1
    await store.use([use("ahead", now() + WEEK), use("right", now())])
    assert await used(store) == 3
    assert await store.joins.forget_seen(now() + 2 * WEEK, 10) == 2


async def test_the_rows_to_forget_are_found_by_their_index(emptied_postgres):
    connection = await asyncpg.connect(emptied_postgres)
    await connection.execute("SET search_path = memstream; SET enable_seqscan = off")
    plan = await connection.fetch(
        "EXPLAIN SELECT ctid FROM inbox WHERE consumer <> 'items' "
        "AND greatest(noted_at, seen_at) < now() "
        "ORDER BY greatest(noted_at, seen_at) LIMIT 10 FOR UPDATE SKIP LOCKED"
    )
    await connection.close()
    assert any("inbox_over" in row[0] for row in plan)
    assert not any("Sort" in row[0] for row in plan)
