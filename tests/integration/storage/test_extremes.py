"""What the contract allows at its edges is stored and found: no memory keeps others from it."""

import random
from datetime import timedelta

import pytest

from tests.integration.storage.corpus import NOON, VECTORS, GridEmbedder, change, ids


@pytest.mark.requirement("SE-9")
@pytest.mark.parametrize(
    "fields",
    [
        {"decay_rate": 1e308},
        {"decay_rate": 1e300, "confidence": 1e-30},
        {"decay_rate": 100.0, "confidence": 5e-324},
    ],
)
@pytest.mark.parametrize("days", [30, 3_600])
async def test_confidence_fades_to_nothing_however_fast(store, fields, days):
    created = NOON - timedelta(days=days)
    await store.apply(
        [
            change("gone", "cat", to=VECTORS[0], created_at=created, **fields),
            change("sure", "cat", to=VECTORS[0]),
        ]
    )
    assert await ids(store, "cat", GridEmbedder()) == ["sure"]
    assert await ids(store, "cat", GridEmbedder(), min_confidence=0) == ["sure", "gone"]
    get = {"operation": "get", "memory_ids": ["gone"]}
    assert await ids(store, **get) == ["gone"]
    assert await ids(store, **get, min_confidence=0.01) == []


async def test_the_longest_ids_are_stored_and_found(store):
    chance = random.Random(1)

    def longest():
        return "".join(chr(chance.randrange(0x20000, 0x2A000)) for _ in range(256))

    tenant, session, first, second = longest(), longest(), longest(), longest()
    within = {"tenant": tenant, "session_id": session}
    await store.apply(
        [
            change(first, "cat", event_id=longest(), **within, position=2**53 - 1),
            change(second, "dog", event_id=longest(), **within, position=0),
        ]
    )
    assert await ids(store, "cat", tenant_id=tenant, operation="recall") == [first, second]


@pytest.mark.requirement("SE-7")
async def test_no_weight_makes_a_score_of_more_than_one(store):
    await store.apply([change("m", "cat", importance=10)])
    for weight in (0.007, 0.013, 0.053, 1e-300, 1e300):
        nothing = {"relevance": 0.0, "recency": 0.0, "confidence": 0.0}
        await store.override("acme", {"recall_weights": {**nothing, "importance": weight}})
        assert await ids(store, "cat", operation="recall") == ["m"]


async def test_the_first_and_the_last_year_are_moments_like_others(store):
    for n, year in enumerate((1, 9999)):
        moment = NOON.replace(year=year)
        await store.apply(
            [
                change(
                    f"m{n}", "cat", to=VECTORS[0], created_at=moment, decay_rate=0.5, session_id="s"
                )
            ]
        )
    for fusion in ("auto", "rrf", "weighted"):
        asked = {"operation": "recall", "fusion": fusion, "min_confidence": 0}
        assert await ids(store, "cat", GridEmbedder(), **asked) == ["m1", "m0"]
