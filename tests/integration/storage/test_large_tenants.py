"""Tenants with more memories than can be compared one by one are searched through an index."""

import asyncpg
import numpy as np
import pytest

from storage import Asked, Filter, Sought
from storage.postgres import PostgresStore
from storage.postgres.find import _statement
from tests.integration.storage.corpus import (
    MODEL,
    NOON,
    VECTORS,
    GridEmbedder,
    change,
    embedding,
    ids,
    vector,
)

NEAR = GridEmbedder({"q": VECTORS[0]})


@pytest.fixture
async def store(emptied_postgres):
    store = await PostgresStore.open(emptied_postgres, connections=1, exact_up_to=5)
    large = [change(f"m{n}", "cat", to=to, tenant="large") for n, to in enumerate(VECTORS)]
    await store.apply([*large, change("small", "cat", to=VECTORS[0], tenant="small")])
    yield store
    await store.close()


@pytest.mark.requirement("SE-2")
async def test_the_nearest_are_found_whatever_the_size(store):
    for tenant, expected in (("large", ["m0", "m8", "m7"]), ("small", ["small"])):
        asked = {"tenant_id": tenant, "mode": "semantic", "limit": 3}
        assert await ids(store, "q", NEAR, **asked) == expected
    # Vectors of another length come into the same partition.
    await store.apply([change("wide", "cat", to=(1.0,) + (0.0,) * 7, tenant="large")])


async def test_only_the_large_are_indexed_and_the_search_can_use_it(store, emptied_postgres):
    owner = await asyncpg.connect(emptied_postgres)
    indexes = await owner.fetch(
        "SELECT tablename FROM pg_indexes WHERE indexname LIKE 'memories_vectors_%_4'"
    )
    await owner.close()
    assert len(indexes) == 1
    async with store._tenant("large") as connection:
        find = _statement("find_terms", await store._partition(connection, "large"), 4)
        lines = await connection.fetch(
            f"EXPLAIN {find}",
            *("large", NOON, None, None, 0.2, None, None, vector(*VECTORS[0]), MODEL),
            *([], 3, 0, True),
        )
    plan = "\n".join(line[0] for line in lines)
    number = indexes[0]["tablename"].removeprefix("memories_")
    assert f"memories_vectors_{number}_4" in plan


@pytest.mark.requirement("SE-2")
async def test_no_tenant_loses_what_it_would_find_to_the_size_of_another(emptied_postgres):
    sizes = {"small": 50, "middle": 500, "large": 1000, "rest": 1500}
    random = np.random.default_rng(7)
    vectors = {name: _directions(random, size) for name, size in sizes.items()}
    store = await PostgresStore.open(emptied_postgres, connections=1, exact_up_to=100)
    for name, rows in vectors.items():
        await store.apply(
            [change(f"m{n}", "cat", to=row, tenant=name) for n, row in enumerate(rows)]
        )
    for name, rows in vectors.items():
        found = wanted = 0
        for query in _directions(random, 20):
            exact = np.argsort(-(rows @ query))[:10]
            sought = Sought(Asked(()), embedding(query), best=10)
            hits = (await store.find(name, sought, Filter(at=NOON))).hits
            found += len({hit.memory_id for hit in hits} & {f"m{n}" for n in exact})
            wanted += len(exact)
        assert found / wanted >= 0.98, name
    await store.close()


@pytest.mark.requirement("SE-9", "RX-2")
@pytest.mark.parametrize(
    "filters", [{"entities": {"team": ["rare"]}}, {"metadata": {"k": 1}}, {"layers": ["team"]}]
)
async def test_the_few_that_pass_a_filter_are_all_found_however_many_do_not(
    emptied_postgres, filters
):
    store = await PostgresStore.open(emptied_postgres, connections=1, exact_up_to=100)
    rare = {"entities": {"team": "rare"}, "metadata": {"k": 1}, "layer": "team"}
    rows = _directions(np.random.default_rng(7), 2_000)
    await store.apply(
        [
            change(f"m{n}", "cat", to=row, **(rare if n % 200 == 0 else {}))
            for n, row in enumerate(rows)
        ]
    )
    # As little as a server may give: what is looked at then takes more, as more would of more.
    async with store._pool.acquire() as connection:
        await connection.execute("SET work_mem = '64kB'")
    sought = Sought(Asked(()), embedding(rows[1]), best=100)
    assert len((await store.find("acme", sought, Filter(at=NOON))).hits) == 100
    found = await store.find("acme", sought, Filter(at=NOON, **filters))
    await store.close()
    assert {hit.memory_id for hit in found.hits} == {f"m{n}" for n in range(0, 2_000, 200)}


def _directions(random, count):
    rows = random.normal(size=(count, 32))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
