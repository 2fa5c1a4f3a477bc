"""Which queries are taken apart: four families of signs, a threshold, a switch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import InForce
from models.choices import Choice
from retrieval.choosing import Chooser, Policy
from retrieval.routing import Router, complexity, signals
from retrieval.routing.signals import layers_in_plural, wants_summary

STANDARD = (
    "What database does the API team use?",
    "Show me recent authentication decisions",
    "what is the login endpoint",
)
RLM = (
    "Compare error handling patterns across all Platform Engineering teams",
    "compare patterns across teams",
    "trace evolution of auth since last quarter",
)
SOME = (
    *("compare", "across", "all", "team", "teams", "org", "projects", "then", "since", "vs"),
    *("history", "auth", "login", "what", "最近"),
)
WORDS = st.lists(st.sampled_from(SOME), max_size=200).map(" ".join)


def learned(weights, exploration=0.0, seed=1):
    return Chooser(Policy(1, choices=weights, exploration=exploration), seed)


def route(query, **own):
    return Router().route(query, InForce(**own)).route


@pytest.mark.requirement("RT-1", "RT-2", "RT-5")
@pytest.mark.parametrize(
    ("query", "expected"), [(q, "standard") for q in STANDARD] + [(q, "rlm") for q in RLM]
)
def test_the_examples_of_the_seed_go_where_it_says(query, expected):
    assert route(query) == expected


@pytest.mark.requirement("RT-5")
@pytest.mark.parametrize("word", ["team", "org", "project", "company", "user", "session", "agent"])
def test_a_layer_word_alone_never_reaches_the_threshold(word):
    query = f"what does the {word} think of " + "tea and coffee " * 40
    assert signals(query).multi_layer == 0.15
    assert complexity(signals(query)) <= 0.25
    assert route(query) == "standard"


@pytest.mark.requirement("RT-4")
@pytest.mark.parametrize(
    ("query", "family", "expected"),
    [
        ("the team", "multi_layer", 0.15),
        ("the teams", "multi_layer", 0.30),
        ("the API team and the web team", "multi_layer", 0.30),
        ("teamwork", "multi_layer", 0),
        ("organizations", "multi_layer", 0.30),
        ("summarize it", "aggregation", 0.25),
        ("every trend across all of history", "aggregation", 0.25),
        ("overall tall", "aggregation", 0.25),
        ("tall wall", "aggregation", 0),
        ("difference  between a and b", "comparison", 0.25),
        ("COMPARE a vs b", "comparison", 0.25),
        ("the difference", "comparison", 0),
        ("one two three four", "structure", 0.04),
        ("word " * 50, "structure", 0.1),
        ("and then", "structure", 0.02 + 0.05),
        ("it was caused by this, then followed by that since last week", "structure", 0.1 + 0.1),
    ],
)
def test_each_family_counts_as_much_as_it_should(query, family, expected):
    assert getattr(signals(query), family) == pytest.approx(expected)


@pytest.mark.requirement("RT-4")
@given(WORDS)
def test_the_score_is_the_sum_of_capped_families(query):
    found = signals(query)
    assert 0 <= found.multi_layer <= 0.30
    assert 0 <= found.aggregation <= 0.25
    assert 0 <= found.comparison <= 0.25
    assert 0 <= found.structure <= 0.20
    total = sum(found.model_dump().values())
    assert complexity(found) == pytest.approx(min(total, 1.0))
    assert 0 <= complexity(found) <= 1


@pytest.mark.requirement("RT-1", "RT-2", "RT-6")
@given(WORDS, st.floats(0, 1))
def test_at_the_threshold_and_above_it_is_decomposed(query, threshold):
    routing = Router().route(query, InForce(routing_threshold=threshold))
    assert routing.route == ("rlm" if routing.score >= threshold else "standard")
    assert routing.propensity == 1.0


@pytest.mark.requirement("RT-7")
@given(WORDS)
def test_the_switch_sends_everything_to_standard_search(query):
    assert route(query, rlm_enabled=False, routing_threshold=0) == "standard"


@pytest.mark.requirement("RT-8")
@given(WORDS)
def test_with_nothing_learned_the_lexical_score_decides(query):
    own = InForce()
    nothing = {f"route/rlm/{name}": 0.0 for name in Router().route(query, own).chosen.features}
    routing = Router().route(query, own, learned(nothing))
    assert (routing.route, routing.propensity) == (Router().route(query, own).route, 1.0)


@pytest.mark.requirement("RT-8")
def test_what_was_learned_moves_the_decision_but_not_the_switch():
    query, own = "who wrote the book that she read", InForce()
    assert Router().route(query, own).route == "standard"
    pays = learned({"route/rlm/always": 30.0})
    assert Router().route(query, own, pays).route == "rlm"
    assert Router().route(query, InForce(rlm_enabled=False), pays).route == "standard"
    assert Router().route(query, own, pays, possible=False).route == "standard"
    does_not = learned({"route/rlm/comparison": -200.0})
    assert Router().route(RLM[0], own, does_not).route == "standard"


@pytest.mark.requirement("RT-8", "TJ-3")
def test_a_route_that_was_tried_tells_with_which_probability():
    query, own = "who wrote the book that she read", InForce()
    routings = [Router().route(query, own, learned({}, 0.5, seed)) for seed in range(400)]
    tried = [one for one in routings if one.route == "rlm"]
    assert 70 < len(tried) < 130
    assert {one.propensity for one in tried} == {0.25}
    choice = Choice.model_validate(tried[0].params()["choice"])
    assert (choice.point, choice.option, choice.exploration) == ("route", "rlm", 0.5)
    forced = tried[0].standard("too_large")
    assert (forced.propensity, "choice" in forced.params()) == (1.0, False)


def test_the_layers_asked_for_in_plural_and_the_wish_for_a_summary():
    assert layers_in_plural("compare teams and projects") == ("project", "team")
    assert layers_in_plural("the API team") == ()
    assert wants_summary("Give me an overview of it")
    assert not wants_summary("what is it")
