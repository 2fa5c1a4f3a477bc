"""Rewards: the formula, its range, and what may be learned from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.rewards import RewardWeights, reward, trainable
from models import Outcome

PLAIN = RewardWeights()
OUTCOMES = {
    "no_signal": Outcome(type="no_signal"),
    "result_ignored": Outcome(type="result_ignored"),
    "query_refined": Outcome(type="query_refined", new_query="q"),
    "result_used": Outcome(type="result_used", quality_score=0.5),
}


@pytest.mark.requirement("TR-3")
@pytest.mark.parametrize(
    ("kind", "tokens", "expected"),
    [
        ("no_signal", 0, 0.3),
        ("no_signal", 100_000, 0.0),
        ("result_ignored", 0, -0.2),
        ("result_ignored", 200_000, -0.5),
        ("query_refined", 50_000, 0.45),
        ("result_used", 0, 0.8),
        ("result_used", 25_000, 0.725),
    ],
)
def test_success_counts_fully_and_efficiency_a_little(kind, tokens, expected):
    assert reward(OUTCOMES[kind], tokens, PLAIN) == pytest.approx(expected)


@pytest.mark.requirement("TR-3")
def test_the_best_there_is_is_one_and_a_useless_use_still_saved_tokens():
    best = Outcome(type="result_used", quality_score=1.0)
    assert reward(best, 0, PLAIN) == 1.0
    assert reward(best.model_copy(update={"quality_score": 0.0}), 0, PLAIN) == 0.3


@pytest.mark.requirement("TR-3")
@given(
    st.sampled_from(list(OUTCOMES.values())),
    st.integers(0, 2**53 - 1),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
)
def test_a_reward_stays_in_its_range_whatever_the_weights(outcome, tokens, success, efficiency):
    assert -1 <= reward(outcome, tokens, RewardWeights(success, efficiency)) <= 1


@pytest.mark.requirement("TR-3")
def test_nothing_is_learned_from_silence_or_from_an_outage():
    assert [kind for kind, one in OUTCOMES.items() if not trainable(one, "q", succeeded=True)] == [
        "no_signal"
    ]
    assert not any(trainable(one, "q", succeeded=False) for one in OUTCOMES.values())
    assert not any(trainable(one, "", succeeded=True) for one in OUTCOMES.values())
