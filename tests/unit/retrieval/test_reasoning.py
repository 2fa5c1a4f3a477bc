"""What a query gives away by its wording, and what a language model adds to it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import InForce
from retrieval.language import AnswerCache
from retrieval.language.chat import ChatCompletions
from retrieval.reasoning import Reasoner, by_rules
from retrieval.reasoning.periods import period
from tests.language_model import Behaviour, local_language_model

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
QUERY = "Compare error handling across all teams since last quarter"
PLAN = json.dumps(
    {
        "semantic": ["how errors are handled"],
        "keyword": ["error handling retry", "exception policy"],
        "parts": ["How does the API team handle errors?"],
        "layers": ["team"],
        "max_age_days": 90,
        "why": "It asks for a comparison.",
    }
)


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("since last quarter", 184),
        ("Last week's incidents", 14),
        ("the past 3 months", 93),
        ("in the last two weeks", 14),
        ("this year", 366),
        ("since yesterday", 2),
        ("since October", 46.5),
        ("since December", 350.5),
        ("since March 2025", 625.5),
        ("since 2026", 319.5),
    ],
)
def test_how_far_back_a_query_looks(query, days):
    assert period(query, NOON) == timedelta(days=days)


@pytest.mark.parametrize("query", ["at last", "since 2030", "the weekend", "last", ""])
def test_no_period_where_none_is_named(query):
    assert period(query, NOON) is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What did Caroline tell Melanie?", ("Caroline", "Melanie")),
        ("Who edits the Journal of Mathematical Physics?", ("Journal of Mathematical Physics",)),
        ('Where is "the old mill"?', ("the old mill",)),
        ("Platform Engineering uses what?", ("Platform Engineering",)),
        ("What Maria said", ("Maria",)),
        ("show me everything", ()),
    ],
)
@pytest.mark.requirement("RR-1")
def test_names_are_found(query, names):
    assert by_rules(query, NOON).entities == names


@pytest.mark.requirement("RR-1")
def test_rules_tell_what_it_is_about_and_why():
    found = by_rules(QUERY, NOON)
    assert found.meanings == ("error handling across all teams since last quarter",)
    assert found.layers == ("team",)
    assert found.max_age == timedelta(days=184)
    assert found.trace
    assert (found.tokens, found.is_degraded) == (0, False)


@given(st.text(min_size=1, max_size=300))
def test_rules_take_any_text(query):
    found = by_rules(query, NOON)
    assert len(found.meanings) == len(found.keywords) == 1
    assert found.meanings[0]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def server():
    async with local_language_model(Behaviour(text=f"Here you are: {PLAN} Bye.")) as server:
        yield server


@pytest.fixture
async def reasoner(server, clock):
    model = ChatCompletions(server.url)
    yield Reasoner(model, "root", AnswerCache(clock), clock, timeout_s=0.5)
    await model.close()


async def reason(reasoner, query=QUERY, tenant="acme", left_s=10.0, **own):
    return await reasoner.reason(tenant, query, NOON, InForce(**own), left_s)


@pytest.mark.requirement("RR-1")
async def test_a_model_adds_queries_for_both_sides_and_a_trace(reasoner, server):
    found = await reason(reasoner)
    assert "how errors are handled" in found.meanings
    assert "error handling retry" in found.keywords
    assert len(found.meanings) == len(found.keywords)
    assert found.parts == ("How does the API team handle errors?",)
    assert (found.layers, found.max_age) == (("team",), timedelta(days=90))
    assert "It asks for a comparison." in found.trace
    assert found.tokens > 0
    assert server.by_model == {"root": 1}


@pytest.mark.requirement("RR-5")
async def test_what_was_found_out_is_used_again_without_a_call(reasoner, server, clock):
    first = await reason(reasoner)
    again = await reason(reasoner, f"  {QUERY.upper()} ")
    assert (again.meanings, again.tokens) == (first.meanings, 0)
    assert server.calls == 1
    await reason(reasoner, tenant="umbrella")
    assert server.calls == 2
    clock.now = 3600.0
    await reason(reasoner)
    assert server.calls == 3
    await reason(reasoner, reasoning_cache_ttl_s=0)
    assert server.calls == 4


@pytest.mark.requirement("RR-3", "RR-7")
@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour("stall"),
        Behaviour("drip", seconds=0.01),
        Behaviour("fail"),
        Behaviour("close"),
        Behaviour("stream"),
        Behaviour(text="no JSON at all"),
        Behaviour(text='{"semantic": "not a list"}'),
        Behaviour(text='{"layers": ["basement"]}'),
    ],
    ids=lambda behaviour: behaviour.text or behaviour.kind,
)
async def test_whatever_the_model_does_rules_are_enough(reasoner, server, behaviour):
    server.behave(behaviour)
    found = await reason(reasoner)
    rules = by_rules(QUERY, NOON)
    assert found.is_degraded
    assert (found.meanings, found.keywords, found.layers) == (
        *(rules.meanings, rules.keywords, rules.layers),
    )
    assert len(found.trace) == len(rules.trace) + 1
    # A failure is not kept: the next one asks again.
    server.behave(Behaviour(text=PLAN))
    assert not (await reason(reasoner)).is_degraded


@pytest.mark.requirement("RX-7")
async def test_without_a_model_nothing_pretends_that_one_ran(clock):
    found = await reason(Reasoner(None, "", AnswerCache(clock), clock))
    assert found == by_rules(QUERY, NOON)
