"""How a standard search ranks: the learned recipe, or a variation of it that is tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval.choosing import Chooser, Chosen, Policy
from retrieval.query_features import query_features

ORDERS: Final = {"ranker": 0.0, "rrf": -5.0, "weighted": -5.0}
"""The ways to order what was found. The learned one is far better for all that were measured."""

KEYWORDS: Final = {"usual": 0.0, "less": -4.0, "more": -4.0}
"""How much words count, beside what the ranker's weights say."""
FACTORS: Final = {"usual": 1.0, "less": 0.6, "more": 1.6}
WORDED: Final = (
    *("bm25", "coverage", "in session: bm25", "in session: coverage"),
    *("joined bm25", "joined coverage", "session words"),
)
"""The features that look at words."""

POOLS: Final = {"usual": 0.0, "narrow": -4.0, "wide": -4.0}
"""How many memories are looked at."""
SIZES: Final = {"usual": 1.0, "narrow": 0.5, "wide": 2.0}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to rank, and how many to look at, as a share of the usual number."""

    weights: Mapping[str, float]
    order: str = "ranker"
    size: float = 1.0


def choose_recipe(chooser: Chooser, query: str) -> tuple[Recipe, Sequence[Chosen]]:
    """Return a recipe for a query, and the choices by which it came about."""
    policy = chooser.policy
    if not policy.is_learning:
        return Recipe(policy.weights), ()
    known = {"always": 1.0, **query_features(query)}
    order = chooser.choose("recipe", ORDERS, known)
    keywords = chooser.choose("keywords", KEYWORDS, known)
    pool = chooser.choose("pool", POOLS, known)
    weights = _reweighed(policy, FACTORS[keywords.option])
    return Recipe(weights, order.option, SIZES[pool.option]), (order, keywords, pool)


def _reweighed(policy: Policy, factor: float) -> Mapping[str, float]:
    if factor == 1:
        return policy.weights
    return {
        name: weight * factor if name in WORDED else weight
        for name, weight in policy.weights.items()
    }
