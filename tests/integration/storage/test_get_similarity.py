"""Memories got by id tell the cosine that finding them would, on each store and without numpy."""

import numpy as np
import pytest

from storage import Asked, Embedding, Filter, Sought
from storage.sqlite import SqliteStore, index
from storage.sqlite.plain import PlainMatrix
from tests.integration.storage.corpus import (
    MODEL,
    NOON,
    VECTORS,
    change,
    deletion,
    embedding,
    vector,
)

NEAR, ACROSS, AWAY = VECTORS[:3]
OTHER = Embedding("other-model", np.array([1, 0, 0], np.float32))
QUERY = embedding(NEAR)


@pytest.fixture(params=["sqlite", "without numpy", "postgres"])
def database(request, tmp_path, monkeypatch):
    if request.param == "postgres":
        return request.getfixturevalue("emptied_postgres")
    if request.param == "without numpy":
        monkeypatch.setattr(index, "Matrix", PlainMatrix)
    return tmp_path / "memstream.db"


async def got(store, names, query=QUERY, tenant="acme", **filters):
    hits = await store.get(tenant, list(names), Filter(NOON, **filters), embedding=query)
    return [(hit.memory_id, hit.similarity) for hit in hits]


async def found(store, query=QUERY, tenant="acme", **filters):
    sought = Sought(Asked(()), query, best=1_000)
    hits = (await store.find(tenant, sought, Filter(NOON, **filters))).hits
    return {hit.memory_id: hit.similarity for hit in hits}


@pytest.mark.requirement("SE-5")
@pytest.mark.parametrize("first", ["get", "find"])
async def test_the_similarity_is_the_one_that_find_tells(store, first):
    rng = np.random.default_rng(11)
    vectors = rng.normal(size=(60, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored, queries = vectors[:50], vectors[45:]
    await store.apply([change(f"m{n}", to=Embedding(MODEL, row)) for n, row in enumerate(stored)])
    names = [f"m{n}" for n in rng.permutation(50)]
    for query in (Embedding(MODEL, row) for row in queries):
        if first == "find":
            await found(store, query)
        several, one = await got(store, names, query), await got(store, names[:1], query)
        expected = await found(store, query)
        assert len(expected) == 50
        assert several == [(name, expected[name]) for name in names]
        assert one == several[:1]
    exact = stored.astype(float) @ queries[-1].astype(float)
    told = dict(several)
    assert [told[f"m{n}"] for n in range(50)] == pytest.approx(exact, abs=1.1e-6)


@pytest.mark.requirement("SE-5")
async def test_it_is_rounded_and_never_above_one(store):
    long = embedding((1.000001, 0, 0, 0))
    await store.apply(
        [
            change("same", to=long),
            change("opposite", to=Embedding(MODEL, -long.vector)),
            change("third", to=(1 / 3, 8**0.5 / 3, 0, 0)),
        ]
    )
    assert await got(store, ["same", "opposite"], long) == [("same", 1.0), ("opposite", -1.0)]
    assert await got(store, ["third"]) == [("third", pytest.approx(0.333333, abs=1e-8))]
    for query in (QUERY, long):
        assert dict(await got(store, ["same", "opposite", "third"], query)) == await found(
            store, query
        )


@pytest.mark.requirement("SE-5")
async def test_what_cannot_be_compared_has_none(store):
    await store.apply([change("m", to=NEAR), change("o", to=OTHER), change("none")])
    names = ["none", "o", "m"]
    assert await got(store, names) == [("none", None), ("o", None), ("m", 1.0)]
    assert await got(store, names, OTHER) == [("none", None), ("o", 1.0), ("m", None)]
    unknown = Embedding("model-of-none", vector(*NEAR))
    nothing = [(name, None) for name in names]
    assert await got(store, names, unknown) == nothing
    assert await got(store, names, None) == nothing
    assert await got(store, names[:1]) == nothing[:1]


@pytest.mark.requirement("SE-5")
async def test_nothing_else_of_a_hit_depends_on_it(store):
    await store.apply(
        [
            change("a", to=NEAR, metadata={"k": 1}, session_id="s", confidence=0.5),
            change("b", to=ACROSS, layer="team", decay_rate=0.01),
        ]
    )
    names, among = ["b", "missing", "a", "b"], Filter(NOON)
    without = await store.get("acme", names, among)
    assert [(hit.memory_id, hit.similarity) for hit in without] == [("b", None), ("a", None)]
    compared = await store.get("acme", names, among, embedding=QUERY)
    assert [hit.similarity for hit in compared] == [0.0, 1.0]
    assert [hit._replace(similarity=None) for hit in compared] == without


@pytest.mark.requirement("SE-1", "SE-5")
async def test_other_tenants_memories_are_not_returned(store):
    await store.apply(
        [
            change("m", to=NEAR),
            change("m", to=AWAY, tenant="umbrella"),
            change("theirs", to=NEAR, tenant="umbrella"),
        ]
    )
    names = ["theirs", "m", "%"]
    assert await got(store, names) == [("m", 1.0)]
    assert await got(store, names, tenant="umbrella") == [("theirs", 1.0), ("m", -1.0)]
    assert await got(store, names, tenant="stranger") == []
    assert await got(store, ["theirs"]) == []
    assert await got(store, []) == []


@pytest.mark.requirement("SE-5")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "altme"),
        ({"layers": ["team"]}, "l"),
        ({"scope": "general"}, "altm"),
        ({"scope": "health"}, "altme"),
        ({"min_confidence": 0.0}, "altfme"),
        ({"metadata": {"tag": "x"}}, "t"),
        ({"entities": {"org": ["o"]}}, "m"),
        ({"metadata": {"tag": "x"}, "entities": {"org": ["o"]}}, ""),
    ],
)
async def test_filters_apply(store, filters, expected):
    fields = {
        "a": {},
        "l": {"layer": "team"},
        "t": {"metadata": {"tag": "x"}},
        "f": {"confidence": 0.1},
        "m": {"entities": {"org": "o"}},
        "e": {"kind": "episode", "scope": "health"},
    }
    await store.apply([change(name, to=ACROSS, **given) for name, given in fields.items()])
    told = await got(store, fields, **filters)
    assert told == [(name, 0.0) for name in expected]
    assert dict(told) == await found(store, **filters)


@pytest.mark.requirement("SE-5")
async def test_it_is_of_the_vector_that_a_memory_has_now(store):
    await store.apply([change(name, to=NEAR) for name in "abcd"])
    assert await got(store, "abcd") == [(name, 1.0) for name in "abcd"]
    await store.apply(
        [
            change("a", to=AWAY, event_id="1"),
            change("b", to=OTHER, event_id="2"),
            deletion("c", "3"),
            change("new", to=ACROSS),
        ]
    )
    expected = [("new", 0.0), ("a", -1.0), ("b", None), ("d", 1.0)]
    assert await got(store, ["new", *"abcd"]) == expected


@pytest.mark.requirement("SE-5")
async def test_a_second_process_compares_with_what_the_first_wrote(tmp_path):
    first = await SqliteStore.open(tmp_path / "memstream.db")
    second = await SqliteStore.open(tmp_path / "memstream.db")
    await first.apply([change("m", to=NEAR)])
    assert await got(second, "m") == [("m", 1.0)]
    await first.apply([change("m", to=AWAY, event_id="again")])
    assert await got(second, "m") == [("m", -1.0)]
    await first.close()
    await second.close()


@pytest.mark.requirement("SE-5")
async def test_the_stores_tell_the_same(stores):
    names = [f"m{n}" for n in range(len(VECTORS))]
    changes = [change(name, to=to) for name, to in zip(names, VECTORS, strict=True)]
    for store in stores.values():
        await store.apply(changes)
    for query in map(embedding, VECTORS):
        first, *others = [await got(store, names, query) for store in stores.values()]
        assert len(first) == len(names)
        for other in others:
            assert other == first
