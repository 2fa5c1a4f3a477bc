"""What is done next, and what it may cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.actions import Aggregate, DrillDown
from retrieval.choosing import Chooser, Policy
from retrieval.decomposition.budget import Budget, BudgetError, Limits
from retrieval.decomposition.policy import PRIOR, choose

NOTHING_LEARNED = Chooser(Policy(), 1)
MOVES = st.lists(st.sampled_from(list(PRIOR)), min_size=1, unique=True)


@given(MOVES)
def test_with_nothing_learned_the_prior_decides_for_sure(legal):
    choice = choose(NOTHING_LEARNED, "finding", legal, {})
    assert choice.move == max(legal, key=PRIOR.__getitem__)
    assert (choice.propensity, choice.legal) == (1.0, tuple(legal))


def test_what_was_learned_counts_in_its_context_only():
    learned = Chooser(Policy(1, choices={"move/stop/finding": 60.0}), 1)
    assert choose(learned, "finding", ["follow up", "stop"], {}).move == "stop"
    assert choose(learned, "comparing", ["follow up", "stop"], {}).move == "follow up"


@pytest.mark.requirement("TJ-3")
def test_a_choice_tells_what_it_was_made_of():
    choice = choose(NOTHING_LEARNED, "finding", ["follow up", "stop"], {"searches": 0.1})
    params = choice.params(Aggregate(strategy="combine"))
    assert params == {
        "strategy": "combine",
        "move": "follow up",
        "context": "finding",
        "legal": ["follow up", "stop"],
    }
    drill = DrillDown(from_layer="org", to_layer="team", filter="x")
    assert {"from": "org", "to": "team", "filter": "x"}.items() <= choice.params(drill).items()


@pytest.mark.requirement("RX-3", "RX-4", "RX-8")
def test_limits_are_kept():
    now = [0.0]
    budget = Budget(10.0, lambda: now[0], Limits(depth=3, queries=5, tokens=100))
    assert budget.affordable(7) == 5
    budget.queries = 4
    assert budget.affordable(7) == 1
    for depth in range(3):
        budget.check_call(depth)
    with pytest.raises(BudgetError, match="depth"):
        budget.check_call(3)
    budget.tokens = 100
    with pytest.raises(BudgetError, match="tokens"):
        budget.check_call(0)
    budget.tokens, now[0] = 0, 10.0
    assert budget.left_s == 0
    with pytest.raises(BudgetError, match="time"):
        budget.check_call(0)


@pytest.mark.requirement("RX-3", "RX-8")
def test_the_default_limits_are_those_of_the_requirements():
    assert Limits() == Limits(depth=3, queries=50, tokens=100_000)
