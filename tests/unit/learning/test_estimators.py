"""Off-policy estimators, by hand, against those of the `obp` package, and against the truth.

`obp` asks for numpy 1.22 and torch 1.13, which exclude ours. So its estimators were run on the
bandit below elsewhere, and the numbers they gave are written down here.
"""

import math

import numpy as np
import pytest

from learning.estimators import (
    bernstein_bounds,
    bernstein_interval,
    bootstrap_interval,
    doubly_robust,
    inverse_propensity,
    normal_interval,
    self_normalised,
    weights,
)
from learning.running import Running

ROUNDS = 4000
ACTIONS = 3

OBP = {"ips": 0.4859124445024653, "snips": 0.4833100505232435, "dr": 0.488259319082117}
"""What obp 0.5.7 gave for this bandit: `estimate_policy_value` of InverseProbabilityWeighting,
SelfNormalizedInverseProbabilityWeighting and DoublyRobust in obp/ope/estimators.py of its source
package, imported without the rest of it and with numpy 2.4.6 and scikit-learn 1.9.1 (torch is only
named there). The seed of the bandit is 12345; its `model` went in as
estimated_rewards_by_reg_model."""


@pytest.fixture(scope="module")
def bandit():
    """Return a logged bandit: contexts, choices with propensities, rewards, and a target policy."""
    numbers = np.random.default_rng(12345)
    x = numbers.normal(size=(ROUNDS, 2))
    tables = numbers.normal(size=(3, ACTIONS, 2))
    truth = 1 / (1 + np.exp(-(x @ tables[0].T)))
    behaviour, target = (_softmax(x @ table.T) for table in (0.5 * tables[1], tables[2]))
    drawn = (numbers.random(ROUNDS)[:, None] > behaviour.cumsum(1)).sum(1)
    rows = np.arange(ROUNDS)
    reward = (numbers.random(ROUNDS) < truth[rows, drawn]).astype(float)
    model = np.clip(truth + 0.2 * np.sin(x[:, :1]), 0, 1)
    return {
        "reward": reward,
        "propensity": behaviour[rows, drawn],
        "chosen": drawn,
        "target": target,
        "model": model,
        "value": float((target * truth).sum(1).mean()),
    }


def _softmax(logits):
    odds = np.exp(logits - logits.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


def ours(bandit, estimator):
    rows = np.arange(ROUNDS)
    weight = weights(bandit["target"][rows, bandit["chosen"]], bandit["propensity"])
    if estimator == "ips":
        return inverse_propensity(bandit["reward"], weight)
    if estimator == "snips":
        return self_normalised(bandit["reward"], weight)
    model = bandit["model"][rows, bandit["chosen"]]
    expected = (bandit["target"] * bandit["model"]).sum(1)
    return doubly_robust(bandit["reward"], weight, model, expected)


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_they_are_the_published_ones_and_find_the_truth(bandit, estimator):
    terms = ours(bandit, estimator)
    assert terms.mean() == pytest.approx(OBP[estimator], rel=1e-12)
    found = normal_interval(terms, 3.0)
    assert found.lower < bandit["value"] < found.upper


@pytest.mark.requirement("TR-9")
def test_a_model_makes_the_doubly_robust_one_surer(bandit):
    assert ours(bandit, "dr").std() < ours(bandit, "ips").std()


@pytest.mark.requirement("TR-9")
def test_by_hand():
    reward = np.array([1.0, 0.0, 0.5, 1.0])
    weight = weights(np.array([0.8, 0.1, 0.5, 0.9]), np.array([0.4, 0.5, 0.5, 0.1]), 4.0)
    assert weight.tolist() == [2.0, 0.2, 1.0, 4.0]
    assert inverse_propensity(reward, weight).mean() == pytest.approx((2 + 0 + 0.5 + 4) / 4)
    assert self_normalised(reward, weight).mean() == pytest.approx(6.5 / 7.2)
    model, expected = np.array([0.5, 0.5, 0.5, 0.75]), np.array([0.6, 0.4, 0.5, 0.7])
    terms = doubly_robust(reward, weight, model, expected)
    assert terms == pytest.approx([1.6, 0.3, 0.5, 1.7])


@pytest.mark.requirement("TR-9")
def test_an_estimate_of_the_policy_that_served_is_its_mean_reward():
    reward = np.array([0.2, 0.7, -0.1])
    same = weights(np.array([0.1, 0.5, 1.0]), np.array([0.1, 0.5, 1.0]))
    assert inverse_propensity(reward, same).mean() == reward.mean()
    assert self_normalised(reward, same).mean() == reward.mean()


@pytest.mark.requirement("TR-9")
def test_bootstrap_intervals_are_near_the_normal_ones_and_the_same_for_the_same_seed(bandit):
    terms = ours(bandit, "dr")
    drawn, normal = bootstrap_interval(terms, seed=1), normal_interval(terms)
    assert drawn == bootstrap_interval(terms, seed=1)
    assert drawn != bootstrap_interval(terms, seed=2)
    width = normal.upper - normal.lower
    assert (drawn.lower, drawn.upper) == pytest.approx(
        (normal.lower, normal.upper), abs=0.15 * width
    )


@pytest.mark.requirement("TR-9")
def test_bernstein_bounds_by_hand_and_wider_than_the_normal_ones():
    terms = np.array([0.0, 1.0, 1.0, 0.0] * 25)
    found = bernstein_interval(terms, width=1.0, confidence=0.95)
    often = math.log(2 / 0.025)
    radius = math.sqrt(2 * terms.var(ddof=1) * often / 100) + 7 * often / (3 * 99)
    assert (found.lower, found.upper) == pytest.approx((0.5 - radius, 0.5 + radius))
    normal = normal_interval(terms)
    assert found.lower < normal.lower < normal.upper < found.upper
    known = Running().with_all(terms.tolist())
    assert bernstein_bounds(known, 1.959964, 1.0) == pytest.approx((found.lower, found.upper))
    assert bernstein_bounds(Running(), 2.0, 1.0) == (-math.inf, math.inf)


@pytest.mark.requirement("TR-9")
def test_bounds_of_few_values_are_student_s():
    known = Running().with_all([1.0, -1.0] * 6)
    assert known.telling == pytest.approx(12)
    error = math.sqrt(known.variance / 12)
    # From a table: 11 degrees of freedom, as sure as 2.5 standard errors of very many.
    expected = 2.9845 * error
    assert known.bounds(2.5) == pytest.approx((-expected, expected), rel=0.01)


@pytest.mark.requirement("TR-9")
def test_a_few_large_values_among_many_are_few():
    known = Running().with_all([0.0] * 500 + [10.0] * 3)
    assert known.telling == pytest.approx(3)
    assert Running().with_all([0.0] * 500).bounds(2.0) == (-math.inf, math.inf)


@pytest.mark.requirement("TR-9")
def test_merged_is_as_if_all_had_come_in_turn():
    values = [0.1, -0.4, 0.9, 0.3, 0.0]
    apart = Running().with_all(values[:2]).merged(Running().with_all(values[2:]))
    whole = Running().with_all(values)
    assert (apart.n, apart.mean, apart.variance, apart.fourths) == pytest.approx(
        (5, np.mean(values), np.var(values, ddof=1), whole.fourths)
    )
    assert Running().merged(Running()) == Running()
