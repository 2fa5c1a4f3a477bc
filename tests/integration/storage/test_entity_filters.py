"""Filters on entities: in every way of finding, and before any limit."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Asked, Filter, Sought, words
from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore, index
from storage.sqlite.plain import PlainMatrix
from tests.integration.storage import oracle
from tests.integration.storage.corpus import NOON, VECTORS, change, embedding
from tests.integration.storage.test_search_oracle import ASKED, MEMORY, TENANTS, numbered, written

NEAR, FAR = VECTORS[0], VECTORS[2]
WAYS = {
    "semantic": Sought(Asked(()), embedding(NEAR), best=1),
    "keyword": Sought(words.asked("cat"), None, best=1),
    "keyword with cosines": Sought(words.asked("cat"), embedding(NEAR), best=1, by_meaning=False),
    "hybrid": Sought(words.asked("cat"), embedding(NEAR), best=1, around=20),
    "parts": Sought(words.asked("東京都"), None, best=1),
    "scraps": Sought(words.asked("arden"), None, best=1),
}
API = {"org": "platform", "team": "api"}
ODD = ["%", "_pi", "a*", "api' OR '1'='1", '"', '{"org": 1}', "$.*", "é", "e\u0301", "東京", "🌍"]


EMBEDDED = ["sqlite", "without FTS5", "without numpy"]


@pytest.fixture(params=[*EMBEDDED, "postgres", "postgres through its index"])
def way_to_search(request):
    return request.param


@pytest.fixture
def database(request, way_to_search, tmp_path):
    if way_to_search in EMBEDDED:
        return tmp_path / "memstream.db"
    return request.getfixturevalue("emptied_postgres")


@pytest.fixture
async def store(database, way_to_search, monkeypatch):
    """Each store in each of the ways in which it searches."""
    if way_to_search in EMBEDDED:
        if way_to_search == "without numpy":
            monkeypatch.setattr(index, "Matrix", PlainMatrix)
        full_text = way_to_search != "without FTS5"
        opened = await SqliteStore.open(database, full_text=full_text)
    else:
        exact_up_to = 5_000 if way_to_search == "postgres" else 0
        opened = await PostgresStore.open(database, connections=1, exact_up_to=exact_up_to)
    yield opened
    await opened.close()


async def got(store, names, **filters):
    among = Filter(NOON, **filters)
    return {hit.memory_id for hit in await store.get("acme", names, among)}


async def found(store, way, tenant="acme", **filters):
    # By what it finds, PostgreSQL's store knows that a tenant is large.
    await store.find(tenant, way, Filter(NOON))
    return {hit.memory_id for hit in (await store.find(tenant, way, Filter(NOON, **filters))).hits}


async def nearest(store, **filters):
    return await found(store, Sought(Asked(()), embedding(NEAR), best=100), **filters)


@pytest.mark.requirement("RX-2", "SE-9")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_entities_are_filtered_by_before_the_limit(store, way):
    text = "cat cat garden 東京都"
    better = [
        change(f"m{n}", text, to=NEAR, entities=about, session_id="s", position=n)
        for n, about in enumerate([None, {"team": "web"}, {"org": "api"}, {"team": "API"}] * 5)
    ]
    last = change("last", f"{text} w w w", to=FAR, entities=API, session_id="s", position=99)
    await store.apply([*better, last])
    assert "last" not in await found(store, replace(way, around=0))
    assert await found(store, way, entities={"team": ["api"]}) == {"last"}
    assert await found(store, way, entities={"team": ["api", "nobody"]}) == {"last"}
    assert await found(store, way, entities={"team": []}) == set()
    assert await found(store, way, entities={"team": ["nobody"]}) == set()


@pytest.mark.requirement("RX-2")
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, {"api", "web", "infra", "lone", "none"}),
        ({}, {"api", "web", "infra", "lone", "none"}),
        ({"team": ["api"]}, {"api", "lone"}),
        ({"team": ("api", "web")}, {"api", "web", "lone"}),
        ({"team": ["api", "web"], "org": ["platform"]}, {"api", "web"}),
        ({"team": ["api"], "org": ["infra"]}, set()),
        ({"org": ["platform", "infra"]}, {"api", "web", "infra"}),
        ({"org": []}, set()),
        ({"org": ["platform"], "team": []}, set()),
        ({"org": [""]}, set()),
        ({"Org": ["platform"]}, set()),
        ({"org": ["Platform"]}, set()),
        ({"company": ["platform"]}, set()),
        ({"team": [f"team{n}" for n in range(1_000)] + ["web"]}, {"web"}),
    ],
)
async def test_each_key_must_have_one_of_its_names(store, asked, expected):
    about = {
        "api": API,
        "web": {"org": "platform", "team": "web"},
        "infra": {"org": "infra"},
        "lone": {"team": "api"},
        "none": None,
    }
    await store.apply(
        [change(name, "cat", to=NEAR, entities=entities) for name, entities in about.items()]
    )
    assert await nearest(store, entities=asked) == expected
    assert await got(store, list(about), entities=asked) == expected


@pytest.mark.requirement("RX-2")
async def test_names_and_keys_are_no_patterns(store):
    await store.apply(
        [
            *(change(f"name {n}", to=NEAR, entities={"team": odd}) for n, odd in enumerate(ODD)),
            *(change(f"key {n}", to=NEAR, entities={odd: "api"}) for n, odd in enumerate(ODD)),
            change("plain", to=NEAR, entities={"team": "api"}),
        ]
    )
    for n, odd in enumerate(ODD):
        assert await nearest(store, entities={"team": [odd]}) == {f"name {n}"}
        assert await nearest(store, entities={odd: ["api"]}) == {f"key {n}"}
        assert await got(store, [f"name {n}", "plain"], entities={"team": [odd]}) == {f"name {n}"}
    assert await nearest(store, entities={"team": ["api"]}) == {"plain"}


@pytest.mark.requirement("RX-2", "SE-9")
async def test_all_filters_must_let_a_memory_through(store):
    fits = {"layer": "team", "scope": "health", "metadata": {"k": 1}, "entities": API}
    others = {
        "layer": {"layer": "user"},
        "scope": {"scope": "general"},
        "metadata": {"metadata": {"k": 2}},
        "entities": {"entities": {"org": "platform"}},
        "confidence": {"confidence": 0.1},
    }
    await store.apply(
        [
            change("fits", "cat", to=FAR, **fits),
            *(change(name, "cat", to=NEAR, **(fits | other)) for name, other in others.items()),
        ]
    )
    asked = {"layers": ["team"], "scope": "health", "metadata": {"k": 1}}
    named = {"entities": {"team": ["api"], "org": ["platform"]}}
    for way in (WAYS["semantic"], WAYS["keyword"], WAYS["hybrid"]):
        assert await found(store, way, **asked, **named) == {"fits"}
    everything = ["fits", *others]
    assert await got(store, everything, **asked, **named) == {"fits"}
    assert await got(store, everything, **named) == {"fits", *others} - {"entities", "confidence"}


@pytest.mark.requirement("RX-2")
async def test_entities_that_were_written_again_are_those_that_count(store):
    await store.apply([change("m", "cat", to=NEAR, entities=API)])
    assert await nearest(store, entities={"team": ["api"]}) == {"m"}
    web = change("m", "cat", to=NEAR, entities={"team": "web"}, event_id="second")
    await store.apply([web])
    assert await nearest(store, entities={"team": ["api"]}) == set()
    assert await nearest(store, entities={"team": ["web"]}) == {"m"}
    await store.apply([change("m", "cat", to=NEAR, event_id="third")])
    assert await nearest(store, entities={"team": ["web"]}) == set()
    assert await nearest(store) == {"m"}


@pytest.mark.requirement("RX-2", "SE-1")
async def test_entities_lead_to_no_other_tenant(store):
    await store.apply(
        [
            change(f"of {tenant}", "cat", to=NEAR, entities=API, tenant=tenant)
            for tenant in ("acme", "umbrella")
        ]
    )
    await store.apply([change("only", "cat", to=NEAR, entities={"team": "x"}, tenant="umbrella")])
    for way in WAYS.values():
        assert await found(store, way, entities={"team": ["api", "x"]}) <= {"of acme"}
        assert await found(store, way, entities={"team": ["x"]}) == set()
    assert await got(store, ["of umbrella", "only"], entities={"team": ["api", "x"]}) == set()


NAMES = st.sampled_from(["a", "A", "b", "c"])
ABOUT = st.dictionaries(st.sampled_from(["org", "team"]), NAMES)
NAMED = st.none() | st.dictionaries(st.sampled_from(["org", "team", "user"]), st.lists(NAMES))


@pytest.mark.requirement("RX-2", "SE-8", "SE-9")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    memories=st.lists(st.tuples(MEMORY, ABOUT), min_size=3, max_size=8),
    questions=st.lists(st.tuples(ASKED, NAMED), min_size=3, max_size=6),
)
async def test_what_passes_is_what_the_requirements_say(store, memories, questions):
    tenant = next(TENANTS)
    plain = numbered([memory for memory, _ in memories])
    about = [entities for _, entities in memories]
    await store.apply(
        [written(memory, tenant, entities=of) for memory, of in zip(plain, about, strict=True)]
    )
    for asked, named in questions:
        passing = {
            memory.memory_id: memory
            for memory, of in zip(plain, about, strict=True)
            if oracle.visible(memory, asked) and oracle.is_about(of, named)
        }
        least = 0.2 if asked.min_confidence is None else asked.min_confidence
        filters = {"layers": asked.layers, "scope": asked.scope, "min_confidence": least}
        filters["entities"] = named
        everything = [memory.memory_id for memory in plain]
        fetched = await store.get(tenant, everything, Filter(NOON, **filters))
        assert {hit.memory_id for hit in fetched} == {*passing}
        by_meaning = Sought(Asked(()), embedding(NEAR), best=100)
        near = {name for name, memory in passing.items() if memory.vector is not None}
        assert await found(store, by_meaning, tenant, **filters) == near
        by_words = Sought(words.asked(asked.query), None, best=100)
        stems = {oracle.STEM[word] for word in asked.query.split()}
        worded = {name for name, memory in passing.items() if stems & {*memory.stems}}
        assert await found(store, by_words, tenant, **filters) == worded
