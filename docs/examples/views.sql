-- DuckDB views over an export. Make `trajectories` first:
--   CREATE VIEW trajectories AS FROM 'trajectories.parquet';

-- What came of searches, day by day.
CREATE VIEW outcomes_daily AS
SELECT
    tenant_id,
    CAST(started_at AT TIME ZONE 'UTC' AS DATE) AS day,
    outcome.type AS outcome,
    count(*) AS searches,
    avg(outcome.quality_score) AS mean_quality
FROM trajectories
GROUP BY ALL;

-- What they were worth, day by day, by the policy that served them; without those nobody judged.
CREATE VIEW rewards_daily AS
SELECT
    tenant_id,
    CAST(started_at AT TIME ZONE 'UTC' AS DATE) AS day,
    policy_version,
    count(*) AS searches,
    avg(reward) AS mean_reward
FROM trajectories
WHERE trainable
GROUP BY ALL;

-- Every choice that a policy made and could have made otherwise, with its probability.
CREATE VIEW choices AS
SELECT
    trajectory_id,
    tenant_id,
    policy_version,
    action.point,
    action.option,
    map_keys(action.options) AS options,
    action.propensity,
    action.features,
    reward
FROM trajectories, unnest(actions) AS made (action)
WHERE trainable AND action.point IS NOT NULL;

-- Every memory that was shown, and whether it was used.
CREATE VIEW shown_memories AS
SELECT
    trajectory_id,
    tenant_id,
    placed.memory_id,
    placed.rank,
    placed.propensity,
    placed.features,
    list_contains(used, placed.memory_id) AS used
FROM trajectories, unnest(shown) AS result (placed);
