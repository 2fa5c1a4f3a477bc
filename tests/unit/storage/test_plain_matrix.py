"""Without numpy the embedded store finds the same, in the same order, with the same numbers."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import Filter
from storage.sqlite.matrix import Matrix
from storage.sqlite.plain import PlainMatrix
from storage.sqlite.rows import Row, as_text
from tests.integration.storage.corpus import NOON, VECTORS, vector

ROOT = Path(__file__).parents[3]
FEW = st.sampled_from
LAYERS, SCOPES = ["user", "team"], ["global", "health", "general"]

ROW = st.builds(
    lambda layer, scope, kind, confidence, decay_rate, days: Row(
        *(0, "m", layer, scope, kind, confidence, decay_rate),
        *(as_text(NOON), as_text(NOON - timedelta(days=days)), None, 0, 0, ""),
    ),
    *(FEW(LAYERS), FEW(SCOPES), FEW(["fact", "episode"])),
    *(FEW([1.0, 0.5, 0.2, 0.1]), FEW([0.0, 0.05, 1e308]), FEW([0, 10, 40, -1])),
)
VECTOR = st.none() | FEW(VECTORS)
FILTER = st.builds(
    Filter,
    at=st.just(NOON),
    layers=st.none() | st.lists(FEW(LAYERS), min_size=1),
    scope=st.none() | FEW([*SCOPES, "other"]),
    min_confidence=FEW([0.2, 0.0, 0.45]),
)


def filled(kind, rows):
    matrix = kind()
    for place, (row, components) in enumerate(rows):
        blob = None if components is None else vector(*components).tobytes()
        matrix.put(place, row._replace(row_id=place + 10), blob)
    return matrix


@pytest.mark.requirement("SE-13")
@given(
    rows=st.lists(st.tuples(ROW, VECTOR), min_size=1, max_size=20),
    query=FEW(VECTORS),
    among=FILTER,
    limit=FEW([1, 2, 3, 5, 100]),
    row_ids=st.none() | st.sets(st.integers(10, 20)),
    moves=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=3),
)
def test_both_matrices_see_and_find_the_same(rows, query, among, limit, row_ids, moves):
    both = [filled(Matrix, rows), filled(PlainMatrix, rows)]
    size = len(rows)
    for source, place in moves:
        for matrix in both:
            matrix.move(source % size, place % size)
    seen = [list(matrix.visible(size, among, row_ids)) for matrix in both]
    assert seen[0] == seen[1]
    asked = vector(*query)
    nearest = [matrix.nearest(asked, seen[0], limit) for matrix in both]
    assert nearest[0] == nearest[1]
    places = range(size)
    similarities = [matrix.similarities(asked, places) for matrix in both]
    assert similarities[0] == pytest.approx(similarities[1], abs=1.1e-6)
    for one in places:
        likeness = [matrix.likeness(one, places[-1]) for matrix in both]
        assert likeness[0] == pytest.approx(likeness[1], abs=1.1e-6)


@pytest.mark.requirement("SE-13")
@given(seed=st.integers(0, 2**32), limit=st.integers(1, 60), copies=st.integers(1, 3))
def test_the_nearest_of_many_and_all_that_tie_with_the_last(seed, limit, copies):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 16))
    vectors = np.repeat(rows / np.linalg.norm(rows, axis=1, keepdims=True), copies, axis=0)
    row = Row(0, "m", "user", "global", "fact", 1, 0, as_text(NOON), as_text(NOON), None, 0, 0, "")
    given = [(row, each) for each in vectors]
    both = [filled(Matrix, given), filled(PlainMatrix, given)]
    visible = [n % 7 != 3 for n in range(len(vectors))]
    query = vector(*vectors[seed % len(vectors)])
    exact = vectors.astype(np.float32).astype(float) @ query.astype(float)
    seen = [n for n, each in enumerate(visible) if each]
    worst = sorted((exact[n] for n in seen), reverse=True)[:limit][-1]
    for matrix in both:
        found = matrix.nearest(query, visible, limit)
        assert {n for n in seen if exact[n] > worst - 1e-9} <= set(found) <= set(seen)
        assert len(found) <= max(limit + copies + 1, 0) or limit >= len(seen)
    sims = [matrix.similarities(query, seen) for matrix in both]
    assert sims[0] == pytest.approx(sims[1], abs=1.1e-6)
    assert sims[0] == pytest.approx([min(exact[n], 1) for n in seen], abs=1.1e-6)


SCRIPT = """
import asyncio, json, sys
from array import array
from datetime import datetime, UTC
from pathlib import Path

if sys.argv[1] == "without":
    sys.modules["numpy"] = None

from models import Item
from storage import Change, Embedding, Filter, Sought, words
from storage.sqlite import SqliteStore
from storage.sqlite import index

if sys.argv[1] == "without":
    kind = array
else:
    import numpy
    kind = lambda code, values: numpy.array(values, numpy.float32)

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


async def main():
    store = await SqliteStore.open(Path(sys.argv[2]))
    given = json.load(sys.stdin)
    await store.apply([
        Change(Item.model_validate(item), NOON, vector and Embedding("m", kind("f", vector)))
        for item, vector in given["memories"]
    ])
    answers = []
    for query, vector, best, scope in given["queries"]:
        embedding = vector and Embedding("m", kind("f", vector))
        sought = Sought(words.asked(query), embedding, best, around=20)
        among = Filter(NOON, scope=scope)
        found = await store.find("acme", sought, among)
        names = [hit.memory_id for hit in found.hits]
        got = await store.get("acme", names, among, embedding=embedding)
        cosines = [hit.similarity for hit in found.hits]
        assert [hit.similarity for hit in got] == cosines, (query, vector, cosines)
        hits = [
            [hit.memory_id, hit.similarity, list(hit.counts), hit.previous, hit.likeness]
            for hit in found.hits
        ]
        answers.append([hits, list(found.frequencies), found.memories, found.mean_length])
    await store.close()
    print(json.dumps([index.Matrix.__name__, "numpy.linalg" in sys.modules, answers]))


asyncio.run(main())
"""


def run_script(how, path, given):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how, str(path)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.requirement("SE-5", "SE-13")
def test_a_process_without_numpy_finds_the_same(tmp_path):
    texts = ["cats run", "the dog", "東京都 cat", "run run run", "nothing", "!!!"]
    memories = []
    for n in range(24):
        item = {"event_id": f"e{n}", "tenant_id": "acme", "memory_id": f"m{n:02}"}
        item |= {"content": texts[n % 6], "scope": SCOPES[n % 3], "session_id": f"s{n % 2}"}
        memories.append((item | {"position": n // 2}, VECTORS[n % 10] if n % 5 else None))
    memories.append(({"event_id": "d", "tenant_id": "acme", "memory_id": "m03", "op": "delete"}, 0))
    queries = [
        (query, components, best, scope)
        for query in ("running cat", "東京都", "othin", "zzz")
        for components in (None, *VECTORS[:5])
        for best in (1, 4, 100)
        for scope in (None, "health")
    ]
    given = {"memories": memories, "queries": queries}
    plain = run_script("without", tmp_path / "plain.db", given)
    fast = run_script("with", tmp_path / "fast.db", given)
    assert (plain[0], fast[0]) == ("PlainMatrix", "Matrix")
    assert plain[1] is False
    for one, other in zip(plain[2], fast[2], strict=True):
        assert one[1:] == other[1:]
        assert [hit[0] for hit in one[0]] == [hit[0] for hit in other[0]]
        for (_, *rest), (_, *expected) in zip(one[0], other[0], strict=True):
            assert rest[0] == pytest.approx(expected[0], abs=1.1e-6)
            assert rest[1:3] == expected[1:3]
            assert rest[3] == pytest.approx(expected[3], abs=1.1e-6)
