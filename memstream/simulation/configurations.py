"""What a policy could choose for good: the fixed configurations that regret is told against."""

from collections.abc import Mapping
from itertools import product

from memstream.clock import now
from models import ServingPolicy
from models.choices import Point, weight_name
from retrieval.choosing import RANK
from retrieval.recipes import KEYWORDS, ORDERS, POOLS

CERTAIN = 1000.0
"""A weight that outweighs whatever speaks for the other options."""

_SHIPPED = ("ranker", "usual")


class Configuration:
    """A policy that always chooses the same, as what serves every tenant."""

    def __init__(self, chosen: Mapping[Point, str], prior: Mapping[str, float]) -> None:
        self._weights = {f"{RANK}{name}": weight for name, weight in prior.items()} | {
            weight_name(point, option, "always"): CERTAIN for point, option in chosen.items()
        }

    async def serving(self, tenant_id: str) -> ServingPolicy:
        """Return it, with nothing left to be tried."""
        return ServingPolicy(
            tenant_id=tenant_id,
            version=0,
            weights=self._weights,
            exploration_rate=0.0,
            updated_at=now(),
        )


def grid() -> dict[str, Mapping[Point, str]]:
    """Return all configurations by name: both routes, and each recipe of the standard one.

    Words are reweighed for the ranker alone, and decomposition knows no recipes, so more would
    only be the same under other names.
    """
    found: dict[str, Mapping[Point, str]] = {"rlm": {"route": "rlm"}}
    for order, words, pool in product(ORDERS, KEYWORDS, POOLS):
        if order != "ranker" and words != "usual":
            continue
        said = [order, words if words == "usual" else f"{words} words", pool]
        name = ", ".join(["standard", *(one for one in said if one not in _SHIPPED)])
        found[name] = {"route": "standard", "recipe": order, "keywords": words, "pool": pool}
    return found
