"""What would another policy have earned? Answered from the log alone, with DuckDB.

Run it cell by cell in an editor that knows `# %%`, or as a whole:
    memstream export --out trajectories.parquet
    python docs/examples/evaluate_policy.py trajectories.parquet
"""

# %% The export, and views over it
import sys
from pathlib import Path

import duckdb
import numpy as np

from learning import estimators

SEED = 7
log = duckdb.connect()
log.from_parquet(sys.argv[1]).create_view("trajectories")
log.execute((Path(__file__).parent / "views.sql").read_text())

# %% What came of searches
print("What came of searches")
log.sql(
    """
    SELECT outcome, sum(searches)::BIGINT AS searches,
        round(sum(searches) / sum(sum(searches)) OVER (), 3) AS share
    FROM outcomes_daily GROUP BY outcome ORDER BY searches DESC
    """
).show()

# %% What each version of the policy earned
print("Mean reward by version of the policy")
log.sql(
    """
    SELECT policy_version, sum(searches)::BIGINT AS searches,
        round(sum(searches * mean_reward) / sum(searches), 3) AS mean_reward
    FROM rewards_daily GROUP BY policy_version ORDER BY policy_version
    """
).show()

# %% What "always this route" would have earned
# Only searches whose route was left to chance can tell: of the others it is not known what the
# other route would have given. A search that took the route counts 1/propensity times, one that
# did not counts 0 times: as if every search had taken it. The plain mean of those that took it is
# of those that were likely to, which may be the ones where it pays.
print("What would have been earned, had every search taken one route")
log.sql(
    """
    WITH weighed AS (
        SELECT reward, route, option, if(option = route, 1 / propensity, 0) AS weight
        FROM choices, (VALUES ('standard'), ('rlm')) AS target (route)
        WHERE point = 'route'
    )
    SELECT route, count(*) AS searches,
        round(avg(reward) FILTER (option = route), 3) AS plain_mean,
        round(avg(weight * reward), 3) AS ips,
        round(sum(weight * reward) / nullif(sum(weight), 0), 3) AS snips,
        round(sum(weight) ^ 2 / nullif(sum(weight ^ 2), 0))::BIGINT AS effective_searches
    FROM weighed GROUP BY route ORDER BY route
    """
).show()


# %% How sure that is
def interval(reward: np.ndarray, weight: np.ndarray, samples: int = 1000) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % points of SNIPS over searches drawn again and again."""
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(0, len(reward), size=(samples, len(reward)))
    found = (weight * reward)[drawn].sum(1) / weight[drawn].sum(1)
    lower, upper = np.quantile(found, [0.025, 0.975])
    return float(lower), float(upper)


print("SNIPS with 95 % intervals, here and by memstream's own estimators")
for route in ("rlm", "standard"):
    logged = log.execute(
        "SELECT reward, propensity, option = ? AS taken FROM choices WHERE point = 'route' "
        "ORDER BY trajectory_id",
        [route],
    ).fetchnumpy()
    reward, propensity = np.asarray(logged["reward"]), np.asarray(logged["propensity"])
    weight = estimators.weights(np.asarray(logged["taken"], float), propensity)
    if not weight.any():
        print(f"  {route}: never taken, so nothing is known of it")
        continue
    lower, upper = interval(reward, weight)
    own = estimators.bootstrap_interval(estimators.self_normalised(reward, weight), SEED)
    print(
        f"  {route}: {(weight * reward).sum() / weight.sum():.3f} ({lower:.3f} … {upper:.3f}); "
        f"learning.estimators: {own.value:.3f} ({own.lower:.3f} … {own.upper:.3f})"
    )
(mean,) = log.execute("SELECT avg(reward) FROM trajectories WHERE trainable").fetchone()
print(f"  as it was: {mean:.3f}")
