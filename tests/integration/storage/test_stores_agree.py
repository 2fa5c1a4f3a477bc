"""The same memories and the same question: every store finds and ranks the same."""

import itertools
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import SearchRequest
from storage import Asked, Embedding, Filter, Found, Sought, words
from tests.integration.storage.corpus import (
    MODEL,
    NOON,
    VECTORS,
    GridEmbedder,
    change,
    embedding,
    searching,
    vector,
)

FEW = st.sampled_from
VOCABULARY = [
    *("run", "runs", "running", "cat", "Cats", "Dr.", "Smith", "smithy", "the", "is", "not"),
    *("café", "CAFÉ", "cafe\u0301", "naïve", "straße", "ＷＩＤＥ", "wide", "İstanbul", "ﬁsh"),
    *("हिन्दी", "हिन्द", "किताब", "किताबें", "தமிழ்", "สวัสดี", "\u0301"),
    *("東京", "京", "東京都", "日本語", "ねこ", "고양이", "ｶﾞ", "・", "𠮷野家"),
    *("🌍", "🙂", "!!!", "—", "%", "_", "*", '"', "'", "can't", "user's", "42", "A:", "Title: x"),
    *("x" * 70, "AND", "OR", "NOT", "NEAR(", "terms:cat", "^run", "-cat"),
]
COMMON = ["run", "cats", "東京", "Smith"]
"""What many have, so that most questions find something and much of it ties."""
TEXT = st.builds(
    lambda parts, glue: glue.join(parts),
    st.lists(FEW(COMMON) | FEW(VOCABULARY), min_size=1, max_size=6),
    FEW([" ", " ", "", ", ", "\n"]),
)
OTHER = Embedding("other", vector(0.6, 0.8))
MEANT = FEW([*map(embedding, VECTORS), None, OTHER])
HOURS = FEW([0, 0, 1, 24, 960, -5])
UPSERT = st.fixed_dictionaries(
    {
        "memory_id": FEW([f"m{n}" for n in range(8)] + ["M", "é", "𠮷"]),
        "content": TEXT,
        "to": MEANT,
        "tenant": FEW(["one", "one", "one", "two"]),
        "layer": FEW(["agent", "user", "company"]),
        "scope": FEW(["global", "health", "general"]),
        "kind": FEW(["fact", "rule", "episode"]),
        "importance": FEW([0.0, 5.0, 10.0]),
        "confidence": FEW([1.0, 1.0, 0.5, 0.2, 0.1]),
        "decay_rate": FEW([0.0, 0.05]),
        "session_id": FEW([None, "s", "s", "s", "t"]),
        "position": FEW([None, 0, 1, 1, 2, 3]),
        "metadata": FEW([None, {"team": "api"}, {"team": "web", "tags": ["x"]}]),
        "entities": FEW([None, {"org": "one"}, {"org": "one", "team": "é"}, {"team": "%"}]),
        "source_path": FEW([None, None, "2026-10-17.md", "notes/2026-11-16.md", "MEMORY.md"]),
        "created_at": HOURS.map(lambda hours: NOON - timedelta(hours=hours)),
    }
)
DELETE = st.fixed_dictionaries(
    {
        "op": st.just("delete"),
        "memory_id": FEW([f"m{n}" for n in range(8)]),
        "tenant": st.just("one"),
    }
)
BATCHES = st.lists(
    st.lists(UPSERT | UPSERT | UPSERT | DELETE, min_size=3, max_size=8), min_size=1, max_size=3
)
FILTERS = st.builds(
    Filter,
    at=st.just(NOON),
    layers=FEW([None, None, None, ["agent", "org"], ["user"]]),
    scope=FEW([None, None, None, "global", "health", "%"]),
    min_confidence=FEW([0.2, 0.0, 0.45]),
    metadata=FEW([None, None, None, {"team": "api"}, {"tags": ["x"]}, {}]),
    entities=FEW([None, None, None, {"org": ["one"]}, {"team": ["é", "%"]}, {"org": []}, {}]),
)
SOUGHT = st.builds(
    Sought,
    asked=TEXT.map(words.asked) | st.just(Asked(())),
    embedding=FEW([*map(embedding, VECTORS), None, OTHER]),
    best=FEW([2, 1, 3, 100]),
    around=st.integers(0, 3),
)
REQUESTS = st.fixed_dictionaries(
    {
        "query": TEXT,
        "mode": FEW(["hybrid", "hybrid", "semantic", "keyword"]),
        "fusion": FEW(["auto", "auto", "rrf", "weighted"]),
        "operation": FEW(["search", "recall"]),
        "strategy": FEW([None, None, "exhaustive", "targeted", "semantic-only"]),
        "limit": FEW([1, 3, 10, 100]),
        "threshold": FEW([None, 0.0, 0.6]),
        "min_confidence": FEW([None, 0.0]),
        "scope": FEW([None, None, "health"]),
        "layers": FEW([None, None, ["user", "agent"]]),
        "filters": FEW([None, None, {"team": "api"}]),
    }
)
NUMBERS = itertools.count()
LOOK = Sought(Asked(()), embedding(VECTORS[0]), best=1)


async def write(stores, batches):
    """Write the batches to all stores and return the names that the two tenants have there."""
    number = next(NUMBERS)
    names = {"one": f"one-{number}", "two": f"two-{number}"}
    for batch in batches:
        changes = []
        for fields in batch:
            given = {"content": None, **fields, "event_id": f"e{next(NUMBERS)}"}
            memory_id, tenant = given.pop("memory_id"), names[given.pop("tenant")]
            content, to = given.pop("content"), given.pop("to", None)
            changes.append(change(memory_id, content, to=to, tenant=tenant, **given))
        for store in stores.values():
            await store.apply(changes)
            # Whoever has looked before must see what changed since.
            await store.find(names["one"], LOOK, Filter(NOON))
    return names


def plain(found):
    """Return what was found so that it can be compared: numbers of one store beside another's."""
    exact, nearly = {}, {}
    for hit in found.hits:
        nearly[hit.memory_id] = (hit.similarity, hit.likeness, hit.confidence)
        rest = hit._replace(
            similarity=hit.similarity is None,
            likeness=hit.likeness is None,
            confidence=None,
            counts=tuple(hit.counts),
        )
        exact[hit.memory_id] = rest
    return (exact, tuple(found.frequencies), found.memories, found.mean_length), nearly


def agree(first, second):
    (exact, nearly), (other_exact, other_nearly) = plain(first), plain(second)
    assert exact == other_exact
    for memory_id, numbers in nearly.items():
        for one, other in zip(numbers, other_nearly[memory_id], strict=True):
            assert one == pytest.approx(other, abs=1.1e-6), memory_id


@pytest.mark.requirement("SE-11", "SE-13", "SE-14")
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES, questions=st.lists(st.tuples(SOUGHT, FILTERS), min_size=4, max_size=8))
async def test_the_stores_find_the_same(stores, batches, questions):
    names = await write(stores, batches)
    for sought, among in questions:
        for tenant in names.values():
            found = {
                name: await store.find(tenant, sought, among) for name, store in stores.items()
            }
            agree(found["sqlite"], found["without FTS5"])
            agree(found["sqlite"], found["postgres"])


@pytest.mark.requirement("SE-11")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=BATCHES, requests=st.lists(REQUESTS, min_size=4, max_size=8), has_meaning=st.booleans()
)
async def test_the_stores_answer_in_the_same_order(stores, batches, requests, has_meaning):
    names = await write(stores, batches)
    embedder = GridEmbedder() if has_meaning else None
    for fields in requests:
        given = {"request_id": "r", "tenant_id": names["one"], "session_id": "s"} | fields
        request = SearchRequest.model_validate(given)
        answers = [
            (await searching(store, embedder).answer(request)).results for store in stores.values()
        ]
        first = answers[0]
        for other in answers[1:]:
            assert [found.memory_id for found in first] == [found.memory_id for found in other]
            assert [found.score for found in first] == pytest.approx(
                [found.score for found in other], abs=1.1e-6
            )
            assert [found.model_copy(update={"score": 0, "similarity": 0}) for found in first] == [
                found.model_copy(update={"score": 0, "similarity": 0}) for found in other
            ]


def _replaced(hit):
    """Return a hit without what only ranking needs, which get is not asked for."""
    return hit._replace(confidence=0, title="")


@pytest.mark.requirement("SE-11")
async def test_the_stores_get_the_same(stores):
    fields = {"layer": "team", "scope": "health", "kind": "episode", "importance": 7.5}
    changes = [
        change("a", "Title: 東京 cat", to=VECTORS[0], **fields, metadata={"k": [1, None]}),
        change("b", "b", confidence=0.1, source_path="2026-01-01.md", session_id="s", position=3),
    ]
    for store in stores.values():
        await store.apply(changes)
    among = Filter(at=NOON + timedelta(days=3), min_confidence=0.0)
    first, *others = [await store.get("acme", ["b", "x", "a"], among) for store in stores.values()]
    assert [hit.memory_id for hit in first] == ["b", "a"]
    for other in others:
        assert [_replaced(hit) for hit in other] == [_replaced(hit) for hit in first]
        confidences = [hit.confidence for hit in first]
        assert [hit.confidence for hit in other] == pytest.approx(confidences)


async def test_vectors_of_a_model_that_is_not_asked_about_say_nothing(stores):
    """Neither a similarity nor a likeness: what cannot be compared with the query is left out."""
    changes = [change(f"m{n}", "cat", to=OTHER, session_id="s", position=n) for n in range(3)]
    for store in stores.values():
        await store.apply(changes)
        for asked in (None, embedding(VECTORS[0])):
            sought = Sought(words.asked("cat"), asked, best=10, around=20)
            found = await store.find("acme", sought, Filter(at=NOON))
            hits = {hit.memory_id: hit for hit in found.hits}
            assert {name: hit.previous for name, hit in hits.items()} == {
                "m0": None,
                "m1": "m0",
                "m2": "m1",
            }
            assert {hit.similarity for hit in hits.values()} == {None}
            assert {hit.likeness for hit in hits.values()} == {None}


async def test_counts_are_those_of_what_was_looked_for_also_where_nothing_has_it(stores):
    for store in stores.values():
        await store.apply([change("m", "nothing of it", to=VECTORS[0])])
        sought = Sought(words.asked("go fly"), Embedding(MODEL, vector(*VECTORS[0])), best=10)
        found = await store.find("acme", sought, Filter(at=NOON))
        assert list(found.frequencies) == [0, 0]
        assert [list(hit.counts) for hit in found.hits] == [[0, 0]]
        nobody = await store.find("acme", sought, Filter(at=NOON, layers=["team"]))
        assert nobody == Found()


@pytest.mark.requirement("SE-9")
async def test_the_neighbour_of_a_memory_is_the_next_that_may_be_seen(stores):
    layers = ["user", "team", "team", "user", "team", "user"]
    changes = [
        change(f"m{n}", "cat" if n == 3 else "x", layer=layer, session_id="s", position=n)
        for n, layer in enumerate(layers)
    ]
    sought = Sought(words.asked("cat"), None, best=1, around=20)
    for store in stores.values():
        await store.apply(changes)
        found = await store.find("acme", sought, Filter(NOON, layers=["user"]))
        previous = {hit.memory_id: hit.previous for hit in found.hits}
        assert previous == {"m0": None, "m3": "m0", "m5": "m3"}


async def test_what_takes_the_place_of_a_deleted_memory_keeps_its_vector(stores):
    for store in stores.values():
        await store.apply([change(f"m{n}", "x", to=VECTORS[n]) for n in range(4)])
        await store.find("acme", LOOK, Filter(NOON))
        await store.apply([change("m0", None, event_id="gone", op="delete")])
        found = await store.find("acme", Sought(Asked(()), LOOK.embedding, best=9), Filter(NOON))
        similarity = {hit.memory_id: hit.similarity for hit in found.hits}
        assert similarity == {"m1": 0.0, "m2": -1.0, "m3": 0.0}


@pytest.mark.requirement("SE-5")
async def test_the_candidates_by_words_are_chosen_by_the_same_bm25(stores):
    # With b = 0.75 the short one is first; with b = 0.5 it would be the long one.
    changes = [change("long", "cat cat w w w w w w"), change("short", "cat w")]
    for store in stores.values():
        await store.apply(changes)
        found = await store.find("acme", Sought(words.asked("cat"), None, best=1), Filter(NOON))
        assert [hit.memory_id for hit in found.hits] == ["short"]


async def test_of_equal_places_in_a_session_the_ids_decide(stores):
    places = {"b": 1, "é": 1, "a": 1, "Z": 1, "last": 2, "first": 0}
    changes = [
        change(name, "cat" if name in {"first", "last"} else "x", session_id="s", position=place)
        for name, place in places.items()
    ]
    sought = Sought(words.asked("cat"), None, best=2, around=20)
    for store in stores.values():
        await store.apply(changes)
        found = await store.find("acme", sought, Filter(NOON))
        previous = {hit.memory_id: hit.previous for hit in found.hits}
        assert previous == {"first": None, "Z": "first", "é": None, "last": "é"}
