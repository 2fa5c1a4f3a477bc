-- Views for those who analyse: docs/analytics.md says what each column means. They are read with the
-- rights of whoever reads, so the walls around the tables are around them too.

-- Searches whose outcome is open or can still be corrected, and what came of them so far.
CREATE VIEW memstream_searches WITH (security_invoker = true) AS
SELECT
    tenant_id,
    request_id,
    session_id,
    asked_at,
    completed_at,
    deadline_at,
    correct_until,
    course::json ->> 'route' AS route,
    (course::json ->> 'policy_version')::bigint AS policy_version,
    (course::json ->> 'result_count')::bigint AS result_count,
    tokens_used,
    succeeded,
    outcome::json ->> 'type' AS outcome,
    (outcome::json ->> 'quality_score')::double precision AS quality_score,
    nullif(revision, -1) AS revision,
    settled
FROM open_trajectories
WHERE course IS NOT NULL;

-- What came of them, day by day.
CREATE VIEW memstream_outcomes_daily WITH (security_invoker = true) AS
SELECT
    tenant_id,
    (completed_at AT TIME ZONE 'UTC')::date AS day,
    coalesce(outcome::json ->> 'type', 'open') AS outcome,
    count(*) AS searches,
    avg((outcome::json ->> 'quality_score')::double precision) AS mean_quality,
    count(*) FILTER (WHERE revision > 0) AS corrected
FROM open_trajectories
WHERE course IS NOT NULL
GROUP BY 1, 2, 3;

-- What labelled searches were worth, day by day and by the policy that served them.
CREATE VIEW memstream_rewards_daily WITH (security_invoker = true) AS
SELECT
    tenant_id,
    (completed_at AT TIME ZONE 'UTC')::date AS day,
    (told ->> 'version')::bigint AS policy_version,
    count(*) AS searches,
    count(*) FILTER (WHERE (told ->> 'trainable')::boolean) AS trainable,
    avg((told ->> 'reward')::double precision) FILTER (WHERE (told ->> 'trainable')::boolean)
        AS mean_reward
FROM lessons
CROSS JOIN LATERAL (SELECT coalesce(lesson, taught)::json AS told) AS learned
WHERE coalesce(lesson, taught) IS NOT NULL
GROUP BY 1, 2, 3;

-- What serves each tenant, and how far its learning is.
CREATE VIEW memstream_policies WITH (security_invoker = true) AS
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
CREATE VIEW memstream_policy_history WITH (security_invoker = true) AS
SELECT
    id,
    tenant_id,
    at,
    kind,
    told::json ->> 'part' AS part,
    version,
    steps,
    trained,
    (told::json ->> 'estimate')::double precision AS estimate,
    (told::json ->> 'lower')::double precision AS lower,
    (told::json ->> 'upper')::double precision AS upper,
    (told::json ->> 'lessons')::bigint AS lessons,
    coalesce(told::json ->> 'reason', '') AS reason,
    ordered,
    coalesce(actor, told::json ->> 'actor') AS actor,
    why
FROM policy_events;

-- How often each memory was returned, looked at and used, and what that makes it worth.
CREATE VIEW memstream_memory_value WITH (security_invoker = true) AS
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
LEFT JOIN policies ON policies.tenant_id = memories.tenant_id AND policies.exposure > 0;

GRANT SELECT ON memstream_searches, memstream_outcomes_daily, memstream_rewards_daily,
    memstream_policies, memstream_policy_history, memstream_memory_value TO memstream_app;
