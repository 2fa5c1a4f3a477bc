"""One weight a feature, so that what answers a question outweighs the rest brought for it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from bench.prior.cases import FOLDS, Case, K

Floats = npt.NDArray[np.float64]

RIDGE = 0.02


def fit(cases: Sequence[Case], without: Sequence[int] = ()) -> Floats:
    """Return weights of the listwise softmax, those of the features left out being 0."""
    usable = [case for case in cases if case.gold.any()]
    rows = np.concatenate([case.rows for case in usable])
    rows[:, list(without)] = 0
    spread = rows.std(0) + 1e-6
    rows /= spread
    sizes = np.array([len(case.rows) for case in usable])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    weight = np.array([case.weight for case in usable])
    gold = np.concatenate([case.gold for case in usable]).astype(float)
    share = gold * np.repeat(weight / np.add.reduceat(gold, starts), sizes)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = rows @ weights
        highest = np.maximum.reduceat(scores, starts)
        odds = np.exp(scores - np.repeat(highest, sizes))
        total = np.add.reduceat(odds, starts)
        chance = odds * np.repeat(weight / total, sizes)
        value = weight @ (highest + np.log(total)) - share @ scores
        return value + RIDGE * (weights @ weights) / 2, rows.T @ (chance - share) + RIDGE * weights

    found = minimize(
        loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    )
    weights: Floats = found.x / spread
    return weights


def held_out(cases: Sequence[Case], without: Sequence[int] = ()) -> list[Floats]:
    """Return for each case weights fitted on the other folds."""
    folds = [fit([case for case in cases if case.fold != fold], without) for fold in range(FOLDS)]
    return [folds[case.fold] for case in cases]


def recall(cases: Sequence[Case], weights: Sequence[Floats]) -> tuple[float, float]:
    """Return recall@K and the share of questions with all their evidence in the K."""
    shares = []
    for case, weight in zip(cases, weights, strict=True):
        best = np.argsort(-(case.rows @ weight), kind="stable")[:K]
        shares.append(case.gold[best].sum() / case.answers)
    return shares_of(shares)


def shares_of(shares: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and how many are all."""
    return float(np.mean(shares)), float(np.mean([share == 1 for share in shares]))
