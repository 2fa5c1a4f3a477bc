"""The cache of answers: how long, how many, whose, and which queries are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.language import AnswerCache
from retrieval.language.cache import MAX_ENTRIES
from tests.unit.retrieval.language.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> AnswerCache[str]:
    return AnswerCache(clock)


@pytest.mark.requirement("RR-5")
def test_an_answer_is_kept_for_an_hour(cache: AnswerCache[str], clock: Clock) -> None:
    assert cache.get("acme", "query") is None
    cache.put("acme", "query", "answer")
    clock.seconds += 3599
    assert cache.get("acme", "query") == "answer"
    clock.seconds += 1
    assert cache.get("acme", "query") is None


@pytest.mark.requirement("RR-5")
def test_each_tenant_has_its_own_time(cache: AnswerCache[str], clock: Clock) -> None:
    cache.put("brief", "query", "answer", ttl_s=10)
    cache.put("long", "query", "answer", ttl_s=10_000)
    cache.put("never", "query", "answer", ttl_s=0)
    assert cache.get("never", "query", ttl_s=10) is None
    clock.seconds += 9
    assert cache.get("brief", "query", ttl_s=10) == "answer"
    clock.seconds += 9000
    assert cache.get("brief", "query", ttl_s=10) is None
    assert cache.get("long", "query", ttl_s=10_000) == "answer"


@pytest.mark.requirement("RR-5")
def test_a_time_made_shorter_counts_for_what_is_kept(cache: AnswerCache[str], clock: Clock) -> None:
    cache.put("acme", "query", "answer", ttl_s=100)
    clock.seconds += 10
    assert cache.get("acme", "query", ttl_s=11) == "answer"
    assert cache.get("acme", "query", ttl_s=10) is None
    assert cache.get("acme", "query", ttl_s=0) is None
    clock.seconds += 90
    assert cache.get("acme", "query", ttl_s=1000) is None


@pytest.mark.requirement("RR-5")
def test_putting_again_replaces_and_begins_the_time_anew(
    cache: AnswerCache[str], clock: Clock
) -> None:
    cache.put("acme", "query", "old", ttl_s=10)
    clock.seconds += 9
    cache.put("acme", "query", "new", ttl_s=10)
    clock.seconds += 9
    assert cache.get("acme", "query") == "new"
    cache.put("acme", "query", "newer", ttl_s=0)
    assert cache.get("acme", "query") is None


@pytest.mark.requirement("RR-5")
def test_no_more_than_ten_thousand_are_kept_those_used_last(cache: AnswerCache[str]) -> None:
    assert MAX_ENTRIES == 10_000
    for n in range(MAX_ENTRIES):
        cache.put("acme", f"query {n}", "answer")
    assert cache.get("acme", "query 0") == "answer"
    for n in range(5):
        cache.put("other", f"query {n}", "answer")
    assert len(cache) == MAX_ENTRIES
    assert cache.get("acme", "query 0") == "answer"
    assert [cache.get("acme", f"query {n}") for n in range(1, 6)] == [None] * 5
    assert cache.get("acme", "query 6") == "answer"


@pytest.mark.requirement("RR-5")
def test_what_is_over_makes_room_first(clock: Clock) -> None:
    cache: AnswerCache[str] = AnswerCache(clock, max_entries=2)
    cache.put("acme", "lasting", "answer", ttl_s=100)
    cache.put("acme", "brief", "answer", ttl_s=1)
    clock.seconds += 1
    cache.put("acme", "another", "answer", ttl_s=100)
    assert cache.get("acme", "lasting") == "answer"


@pytest.mark.requirement("RR-5")
@pytest.mark.parametrize(
    "query", ["Who met Ada?", "  who met ada?\n", "WHO\tMET   ADA?", "who\u00a0met ada?"]
)
def test_space_and_case_make_no_difference(cache: AnswerCache[str], query: str) -> None:
    cache.put("acme", "Who met  ADA?", "answer")
    assert cache.get("acme", query) == "answer"


@pytest.mark.parametrize("query", ["who met ada", "whomet ada?", "who met adá?", ""])
def test_other_queries_are_others(cache: AnswerCache[str], query: str) -> None:
    cache.put("acme", "Who met Ada?", "answer")
    assert cache.get("acme", query) is None


@pytest.mark.requirement("RR-5")
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (("a/b", "c"), ("a", "b/c")),
        (("a", "b c"), ("a b", "c")),
        (("Acme", "q"), ("acme", "q")),
        (("acme ", "q"), ("acme", "q")),
        (("", "acmeq"), ("acme", "q")),
    ],
)
def test_no_tenant_gets_anothers_answer(
    cache: AnswerCache[str], theirs: tuple[str, str], ours: tuple[str, str]
) -> None:
    cache.put(*theirs, "secret")
    assert cache.get(*ours) is None


@pytest.mark.requirement("RR-5")
@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", "a/b", "A", " a"])] * 2)))
def test_answers_come_back_to_whom_they_were_given(puts: list[tuple[str, str]]) -> None:
    cache: AnswerCache[tuple[str, str]] = AnswerCache(Clock())
    for tenant, query in puts:
        cache.put(tenant, query, (tenant, query.strip().lower()))
    for tenant, query in puts:
        assert cache.get(tenant, query) == (tenant, query.strip().lower())
