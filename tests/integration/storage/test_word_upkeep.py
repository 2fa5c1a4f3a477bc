"""What is kept to find memories by words is no more and no less than the memories have."""

import asyncio
import itertools
from collections import Counter

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import words
from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore
from tests.integration.storage.corpus import change, deletion, ids

TEXTS = ["cat", "cats and dogs", "東京 cat cat", "!!!", "東京都", "run", "the dog runs", "x" * 99]
OPERATIONS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.sampled_from(TEXTS)), max_size=4),
    max_size=5,
)
EVENTS = itertools.count()


def changes(batch, tenant="acme"):
    return [
        deletion(memory_id, f"e{next(EVENTS)}", tenant)
        if text is None
        else change(memory_id, text, event_id=f"e{next(EVENTS)}", tenant=tenant)
        for memory_id, text in batch
    ]


def left(batches):
    """Return the texts that are left in the end."""
    last = {memory_id: text for batch in batches for memory_id, text in batch}
    return [text for text in last.values() if text is not None]


def vocabulary(store, table):
    """Return the terms of a full-text table with how many memories have each."""
    database = store._database
    database.execute(f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, {table}, 'row')")
    terms = dict(database.execute("SELECT term, doc FROM temp.seen").fetchall())
    database.execute("DROP TABLE temp.seen")
    return terms


def check_integrity(store):
    for table in ("words", "parts"):
        store._database.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")


@pytest.mark.requirement("SE-14")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=OPERATIONS)
async def test_full_text_tables_have_what_the_memories_have(tmp_path, batches):
    path = tmp_path / f"{next(EVENTS)}.db"
    store = await SqliteStore.open(path)
    for batch in batches:
        await store.apply(changes(batch))
    kept = left(batches)
    check_integrity(store)
    counted = Counter(term for text in kept for term in set(words.terms(text)))
    assert sorted(vocabulary(store, "words").values()) == sorted(counted.values())
    in_parts = [text for text in kept if words.asked(text).parts]
    trigrams = Counter(
        text[n : n + 3] for text in in_parts for n in range(len(text) - 2)
    )  # no trigram is twice in one of these texts
    assert set(vocabulary(store, "parts")) == set(trigrams)
    rows = store._database.execute("SELECT count(*) FROM words").fetchone()[0]
    assert rows == len(kept)
    await store.close()


async def recount(url, tenant):
    """Return what is kept of a tenant's words, and what its memories say should be."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "memstream,public"})
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
        postings = await connection.fetch(
            """
            SELECT memory_id, term, occurrences, postings.length
            FROM postings LEFT JOIN memories USING (tenant_id, number)
            WHERE tenant_id = $1
            """,
            tenant,
        )
        corpus = await connection.fetchrow(
            "SELECT memories, length FROM corpora WHERE tenant_id = $1", tenant
        )
        memories = await connection.fetch(
            "SELECT memory_id, content FROM memories WHERE tenant_id = $1", tenant
        )
    await connection.close()
    expected = Counter()
    for memory_id, content in memories:
        terms = words.terms(content)
        for term, count in Counter(terms).items():
            expected[memory_id, term, count, len(terms)] += 1
    lengths = [len(words.terms(content)) for _, content in memories]
    return (
        (Counter(map(tuple, postings)), tuple(corpus) if corpus else (0, 0)),
        (expected, (len(memories), sum(lengths))),
    )


@pytest.mark.requirement("SE-3")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=OPERATIONS)
async def test_postings_and_counts_are_what_a_recount_says(stores, emptied_postgres, batches):
    tenant = f"tenant-{next(EVENTS)}"
    for batch in batches:
        await stores["postgres"].apply(changes(batch, tenant))
    kept, counted = await recount(emptied_postgres, tenant)
    assert kept == counted
    assert counted[1][0] == len(left(batches))


@pytest.mark.requirement("SE-3")
async def test_concurrent_writers_of_the_same_memories_leave_nothing_behind(emptied_postgres):
    stores = [await PostgresStore.open(emptied_postgres, connections=4) for _ in range(2)]

    async def write(store, number):
        for turn in range(6):
            batch = [
                (memory, None if (turn + number + n) % 4 == 0 else TEXTS[(turn * number + n) % 8])
                for n, memory in enumerate("abcdef")
            ]
            # Each writer names them in another order.
            both = changes(batch[number % 6 :] + batch[: number % 6])
            both += changes(batch[:2], "umbrella")
            await store.apply(both)

    await asyncio.gather(*(write(stores[n % 2], n) for n in range(6)))
    for tenant in ("acme", "umbrella"):
        kept, counted = await recount(emptied_postgres, tenant)
        assert kept == counted
        assert counted[1][0] > 0
    for store in stores:
        await store.close()


async def test_two_processes_writing_the_same_memories_leave_the_file_whole(tmp_path):
    stores = [await SqliteStore.open(tmp_path / "memstream.db") for _ in range(2)]

    async def write(store, number):
        for turn in range(6):
            text = TEXTS[(turn + number) % 8]
            await store.apply(changes([("a", text), ("b", None if turn % 2 else text)]))

    await asyncio.gather(*(write(store, n) for n, store in enumerate(stores)))
    check_integrity(stores[0])
    await stores[0].apply(changes([("a", "final 東京都"), ("b", None)]))
    for store in stores:
        assert await ids(store, "final", mode="keyword") == ["a"]
        assert await ids(store, "東京都", mode="keyword") == ["a"]
        await store.close()


@pytest.mark.requirement("SE-14")
async def test_a_file_written_without_fts5_is_found_with_it(tmp_path):
    path = tmp_path / "memstream.db"
    plain = await SqliteStore.open(path, full_text=False)
    await plain.apply(changes([("a", "cats run"), ("b", "東京都 cat"), ("c", "gone 東京都")]))
    await plain.apply(changes([("c", None), ("a", "dogs run")]))
    await plain.close()
    store = await SqliteStore.open(path)
    assert await ids(store, "cat", mode="keyword") == ["b"]
    assert await ids(store, "running dogs", mode="keyword") == ["a"]
    assert await ids(store, "東京都", mode="keyword") == ["b"]
    assert await ids(store, "gone", mode="keyword") == []
    check_integrity(store)
    await store.close()


@pytest.mark.requirement("SE-14")
async def test_a_file_written_with_fts5_and_then_without_it_is_found_with_it(tmp_path):
    path = tmp_path / "memstream.db"
    store = await SqliteStore.open(path)
    await store.apply(changes([("a", "cats run"), ("b", "東京都 cat"), ("c", "gone 東京都")]))
    await store.close()
    plain = await SqliteStore.open(path, full_text=False)
    await plain.apply(changes([("a", "dogs swim"), ("c", None), ("d", "京都市 garden")]))
    assert await ids(plain, "swimming", mode="keyword") == ["a"]
    await plain.close()
    store = await SqliteStore.open(path)
    assert await ids(store, "swimming", mode="keyword") == ["a"]
    assert await ids(store, "garden", mode="keyword") == ["d"]
    assert await ids(store, "京都市", mode="keyword") == ["d"]
    assert await ids(store, "running", mode="keyword") == []
    assert await ids(store, "東京都", mode="keyword") == ["b"]
    check_integrity(store)
    await store.close()
