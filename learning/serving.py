"""The weights that serve a tenant: its own champion's evidence and, up to a limit, the others'."""

from collections.abc import Mapping
from typing import get_args

from learning.config import LearningConfig
from learning.prior import Pool
from learning.state import Learned
from models.choices import Point, weight_name


def serving_weights(
    state: Learned,
    pool: Pool | None,
    prior: Mapping[str, float],
    config: LearningConfig,
) -> dict[str, float]:
    """Return all weights by name: the ranker's in full, and of choices those that were learned.

    The pool is that of the other tenants; without one only the tenant's own evidence counts. Nor
    does a pool count while the tenant is suspended: what was rolled back must not come in again
    that way, and what fell may have been the pool's doing.
    """
    evidence = state.serving
    if pool is not None and not state.suspended:
        others = pool.shared(config).capped(config.pool_cap, config.list_uses)
        evidence = evidence.plus(others)
    weights: dict[str, float] = {}
    for point in get_args(Point):
        known = evidence.points.get(point)
        if known is None or known.lessons <= 0:
            continue
        table = known.weights(0.0, config).tolist()
        for option, row in zip(known.options, table, strict=True):
            for feature, weight in zip(known.features, row, strict=True):
                weights[weight_name(point, option, feature)] = weight
    ranker = evidence.ranker.about(tuple(sorted(prior)))
    # With nothing learned it is the prior to the last digit.
    learned = ranker.weights(prior, config).tolist() if ranker.lessons > 0 else None
    for place, feature in enumerate(ranker.features):
        weights[f"rank/{feature}"] = learned[place] if learned else prior[feature]
    return weights
