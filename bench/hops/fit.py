"""One weight a feature, given that of the paths to a memory only the best one counts.

Which path is best depends on the weights, so the two are found in turns: choose the paths by the
weights, fit the weights to these paths as ``bench.prior`` fits its own, and again.
"""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from bench.hops.cases import FOLDS, Case
from retrieval.decomposition.candidates import OWN
from retrieval.decomposition.links import LINKS

Floats = npt.NDArray[np.float64]

NAMES = (*OWN, *(f"link: {name}" for name in LINKS))
RIDGE = 0.02
TURNS = 3
K = 10
KEPT = 50
"""So many candidates of a question by each of three simple scores are fitted on; all are ranked."""
START = {
    "first": 1.0,
    **{f"link: {name}": 1.0 for name in ("cosine", "unanswered", "names")},
    "link: title in parent": 2.0,
    "link: found": -2.0,
}


def scores(case: Case, weights: Floats) -> Floats:
    """Return what each candidate of a question is worth."""
    own, link = weights[: len(OWN)], weights[len(OWN) :]
    found: Floats = case.own @ own + (case.paths @ link).max(1)
    return found


def fit(cases: Sequence[Case], without: Collection[str] = ()) -> Floats:
    """Return weights of the listwise softmax, those of the features left out being 0."""
    usable = [(case, kept) for case in cases if case.gold[kept := _kept(case)].any()]
    mask = np.array([float(name not in without) for name in NAMES])
    sizes = np.array([len(kept) for _, kept in usable])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    weight = np.array([case.weight for case, _ in usable])
    gold = np.concatenate([case.gold[kept] for case, kept in usable]).astype(float)
    share = gold * np.repeat(weight / np.add.reduceat(gold, starts), sizes)
    weights: Floats = np.array([START.get(name, 0.0) for name in NAMES]) * mask
    spread: Floats | None = None
    for _ in range(TURNS):
        rows = np.concatenate([_chosen(case, kept, weights) for case, kept in usable])
        rows *= mask
        if spread is None:
            spread = rows.std(0) + 1e-6
        weights = _softmax(rows / spread, weights * spread, sizes, weight, share) / spread
    return weights


def _softmax(rows: Floats, begin: Floats, sizes: Floats, weight: Floats, share: Floats) -> Floats:
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)

    def loss(weights: Floats) -> tuple[float, Floats]:
        each = rows @ weights
        highest = np.maximum.reduceat(each, starts)
        odds = np.exp(each - np.repeat(highest, sizes))
        total = np.add.reduceat(odds, starts)
        chance = odds * np.repeat(weight / total, sizes)
        value = weight @ (highest + np.log(total)) - share @ each
        return value + RIDGE * (weights @ weights) / 2, rows.T @ (chance - share) + RIDGE * weights

    found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 100})
    fitted: Floats = found.x
    return fitted


def _chosen(case: Case, kept: npt.NDArray[np.intp], weights: Floats) -> Floats:
    paths = case.paths[kept]
    best = (paths @ weights[len(OWN) :]).argmax(1)
    rows: Floats = np.concatenate([case.own[kept], paths[np.arange(len(kept)), best]], axis=1)
    return rows.astype(float)


def _kept(case: Case) -> npt.NDArray[np.intp]:
    own, link = OWN.index, LINKS.index
    led = sum(case.paths[..., link(name)] for name in ("bm25", "cosine", "unanswered"))
    simple = (
        case.own[:, own("first")],
        case.own[:, own("topic: cosine")] + case.own[:, own("topic: bm25")],
        (led + 0.5 * case.paths[..., link("parent")]).max(1),
    )
    return np.unique(np.concatenate([np.argsort(-score)[: KEPT // 2 + 5] for score in simple]))


def held_out(cases: Sequence[Case], without: Collection[str] = ()) -> list[Floats]:
    """Return for each case weights fitted on the other folds."""
    folds = [fit([case for case in cases if case.fold != fold], without) for fold in range(FOLDS)]
    return [folds[case.fold] for case in cases]


def recall(cases: Sequence[Case], weights: Sequence[Floats]) -> tuple[float, float]:
    """Return recall@K and the share of questions with all their evidence in the K."""
    shares = []
    for case, weight in zip(cases, weights, strict=True):
        best = np.argsort(-scores(case, weight), kind="stable")[:K]
        shares.append(case.gold[best].sum() / case.answers)
    return float(np.mean(shares)), float(np.mean([share == 1 for share in shares]))
