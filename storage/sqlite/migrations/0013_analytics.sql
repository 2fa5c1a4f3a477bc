-- Views for those who analyse: docs/analytics.md says what each column means. There is no wall in a
-- file: whoever can read it reads all tenants.

-- Searches whose outcome is open or can still be corrected, and what came of them so far.
CREATE VIEW memstream_searches AS
SELECT
    tenant_id,
    request_id,
    session_id,
    asked_at,
    completed_at,
    deadline_at,
    correct_until,
    json_extract(course, '$.route') AS route,
    json_extract(course, '$.policy_version') AS policy_version,
    json_extract(course, '$.result_count') AS result_count,
    tokens_used,
    succeeded,
    json_extract(outcome, '$.type') AS outcome,
    json_extract(outcome, '$.quality_score') AS quality_score,
    nullif(revision, -1) AS revision,
    settled
FROM open_trajectories
WHERE course IS NOT NULL;

-- What came of them, day by day.
CREATE VIEW memstream_outcomes_daily AS
SELECT
    tenant_id,
    date(completed_at) AS day,
    coalesce(json_extract(outcome, '$.type'), 'open') AS outcome,
    count(*) AS searches,
    avg(json_extract(outcome, '$.quality_score')) AS mean_quality,
    count(*) FILTER (WHERE revision > 0) AS corrected
FROM open_trajectories
WHERE course IS NOT NULL
GROUP BY 1, 2, 3;

-- What labelled searches were worth, day by day and by the policy that served them.
CREATE VIEW memstream_rewards_daily AS
SELECT
    tenant_id,
    date(completed_at) AS day,
    json_extract(coalesce(lesson, taught), '$.version') AS policy_version,
    count(*) AS searches,
    count(*) FILTER (WHERE json_extract(coalesce(lesson, taught), '$.trainable')) AS trainable,
    avg(json_extract(coalesce(lesson, taught), '$.reward'))
        FILTER (WHERE json_extract(coalesce(lesson, taught), '$.trainable')) AS mean_reward
FROM lessons
WHERE coalesce(lesson, taught) IS NOT NULL
GROUP BY 1, 2, 3;

-- What serves each tenant, and how far its learning is.
CREATE VIEW memstream_policies AS
SELECT
    tenant_id,
    version,
    served_at,
    steps,
    trained,
    exploration AS exploration_rate,
    blended_with > 0 AS learns_from_others,
    (
        SELECT count(*) FROM lessons
        WHERE lessons.tenant_id = policies.tenant_id AND place IS NOT NULL
    ) AS pending
FROM policies;

-- What became of each tenant's policy, when, by whom and why.
CREATE VIEW memstream_policy_history AS
SELECT
    id,
    tenant_id,
    at,
    kind,
    json_extract(told, '$.part') AS part,
    version,
    steps,
    trained,
    json_extract(told, '$.estimate') AS estimate,
    json_extract(told, '$.lower') AS lower,
    json_extract(told, '$.upper') AS upper,
    json_extract(told, '$.lessons') AS lessons,
    coalesce(json_extract(told, '$.reason'), '') AS reason,
    ordered,
    coalesce(actor, json_extract(told, '$.actor')) AS actor,
    why
FROM policy_events;

-- How often each memory was returned, looked at and used, and what that makes it worth.
CREATE VIEW memstream_memory_value AS
SELECT
    memories.tenant_id,
    memory_id,
    layer,
    scope,
    kind,
    created_at,
    reference_count,
    last_referenced_at,
    use_count,
    last_used_at,
    memories.exposure,
    memories.exposed_use,
    (memories.exposed_use + 3 * policies.exposed_use / policies.exposure)
        / (memories.exposure + 3) AS value
FROM memories
LEFT JOIN policies ON policies.tenant_id = memories.tenant_id AND policies.exposure > 0
WHERE NOT deleted;
