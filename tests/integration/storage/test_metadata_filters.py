"""Filters on metadata mean on every store what PostgreSQL's jsonb containment means."""

import json

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import Filter
from storage.sqlite.containment import contains
from tests.integration.storage.directions import NOON, change, direction, found


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"team": "api"}, {"a", "b"}),
        ({"team": "api", "tags": ["x"]}, {"a"}),
        ({"tags": []}, {"a", "b"}),
        ({"deep": {"n": 1}}, {"a"}),
        ({"deep": {"n": 1.0}}, {"a"}),
        ({"flag": True}, {"b"}),
        ({"flag": 1}, {"c"}),
        ({"none": None}, {"c"}),
        ({"team": "%"}, set()),
        ({"team": "api' OR '1'='1"}, set()),
        ({}, {"a", "b", "c", "d"}),
    ],
)
async def test_metadata_filters_ask_for_what_must_be_contained(store, asked, expected):
    nested = {"team": "api", "tags": ["x", "y"], "deep": {"n": 1, "m": 2}}
    await store.apply(
        [
            change("a", direction(1, 0), metadata=nested),
            change("b", direction(1, 0), metadata={"team": "api", "tags": ["y"], "flag": True}),
            change("c", direction(1, 0), metadata={"team": "web", "flag": 1, "none": None}),
            change("d", direction(1, 0)),
        ]
    )
    assert set(await found(store, direction(1, 0), metadata=asked)) == expected
    among = Filter(at=NOON, metadata=asked)
    assert {hit.memory_id for hit in await store.get("acme", list("abcd"), among)} == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=6,
)


async def test_containment_is_what_postgresql_says_it_is(postgres_url):
    connection = await asyncpg.connect(postgres_url)
    pairs = []

    @settings(max_examples=300, database=None)
    @given(
        st.dictionaries(st.sampled_from("xyz"), JSON), st.dictionaries(st.sampled_from("xyz"), JSON)
    )
    def collect(whole, part):
        pairs.append((whole, part))

    collect()
    for whole, part in pairs:
        said = await connection.fetchval(
            "SELECT $1::text::jsonb @> $2::text::jsonb", json.dumps(whole), json.dumps(part)
        )
        assert contains(whole, part) == said, (whole, part)
    await connection.close()
