"""What a policy would have earned, from what another one earned: off-policy estimators."""

import math
from dataclasses import dataclass

import numpy as np

from learning.arrays import Floats
from learning.running import Running


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and an interval for it."""

    value: float
    lower: float
    upper: float
    n: int


def weights(target: Floats, propensity: Floats, limit: float = math.inf) -> Floats:
    """Return the importance weights of logged choices: how much likelier the target makes each."""
    found: Floats = np.minimum(target / propensity, limit)
    return found


def inverse_propensity(reward: Floats, weight: Floats) -> Floats:
    """Return the terms whose mean is the IPS estimate."""
    return weight * reward


def self_normalised(reward: Floats, weight: Floats) -> Floats:
    """Return the terms whose mean is the SNIPS estimate: weights that sum to their number."""
    terms: Floats = weight * reward / weight.mean()
    return terms


def doubly_robust(reward: Floats, weight: Floats, model: Floats, expected: Floats) -> Floats:
    """Return the terms whose mean is the doubly robust estimate.

    The model is what was predicted for the choice made; expected is what it predicts for the
    target's choices. It is right when either the model or the propensities are.
    """
    return expected + weight * (reward - model)


def bootstrap_interval(
    terms: Floats, seed: int, confidence: float = 0.95, samples: int = 1000
) -> Estimate:
    """Return the mean with the percentiles of means of samples drawn again."""
    chance = np.random.default_rng(seed)
    drawn = chance.integers(0, len(terms), size=(samples, len(terms)))
    means = terms[drawn].mean(1)
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(means, [tail, 1 - tail])
    return Estimate(float(terms.mean()), float(lower), float(upper), len(terms))


def normal_interval(terms: Floats, z: float = 1.96) -> Estimate:
    """Return the mean plus and minus so many standard errors."""
    known = Running().with_all(terms.tolist())
    return Estimate(known.mean, *known.bounds(z), known.n)


def bernstein_interval(terms: Floats, width: float, confidence: float = 0.95) -> Estimate:
    """Return the mean with the empirical Bernstein bounds (Maurer and Pontil 2009, theorem 4).

    Width is how far apart two terms can be. Each bound holds with half of what is not confidence.
    """
    known = Running().with_all(terms.tolist())
    radius = _radius(known, width, (1 - confidence) / 2)
    return Estimate(known.mean, known.mean - radius, known.mean + radius, known.n)


def bernstein_bounds(known: Running, z: float, width: float) -> tuple[float, float]:
    """Return the empirical Bernstein bounds that hold as surely as so many standard errors do."""
    radius = _radius(known, width, math.erfc(z / math.sqrt(2)) / 2)
    return known.mean - radius, known.mean + radius


def _radius(known: Running, width: float, risk: float) -> float:
    if known.n < 2:
        return math.inf
    often = math.log(2 / risk)
    return math.sqrt(2 * known.variance * often / known.n) + 7 * width * often / (3 * (known.n - 1))
