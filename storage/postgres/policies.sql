-- name: enter_tenant
-- As in the join, every statement finds its rows by an index, however few or many there are.
SELECT
    set_config('app.tenant_id', $1, true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)

-- name: open
INSERT INTO policies (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: lock
SELECT steps, places, newest_at FROM policies WHERE tenant_id = $1 FOR UPDATE

-- name: lock_if_free
SELECT steps FROM policies WHERE tenant_id = $1 FOR UPDATE SKIP LOCKED

-- name: pending
SELECT trajectory_id, revision, completed_at, place, lesson, taught, taught_in
FROM lessons
WHERE tenant_id = $1 AND place IS NOT NULL

-- name: known
SELECT trajectory_id, revision, completed_at, place, lesson, taught, taught_in
FROM lessons
WHERE tenant_id = $1 AND trajectory_id = ANY ($2::text[])

-- name: learner
SELECT state, contribution, contributed, pooled, writes, exposure, exposed_use, version, weights,
    exploration, served_at
FROM policies
WHERE tenant_id = $1

-- name: common
SELECT number, pool FROM common_policy WHERE NOT opted_out($1)

-- name: keep
INSERT INTO lessons (tenant_id, trajectory_id, revision, completed_at, place, lesson, taught,
    taught_in)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, trajectory_id) DO UPDATE SET
    revision = excluded.revision, place = excluded.place, lesson = excluded.lesson,
    taught = excluded.taught, taught_in = excluded.taught_in

-- name: note_progress
UPDATE policies SET places = $2, newest_at = $3 WHERE tenant_id = $1

-- name: save
-- Whoever lost its turn in the meantime finds that steps were made without it.
UPDATE policies SET
    steps = $3, trained = $4, version = $5, exploration = $6, state = $7, contribution = $8,
    contributed = $9, exposure = $10, exposed_use = $11, writes = writes + 1
WHERE tenant_id = $1 AND steps = $2
RETURNING steps

-- name: serve
UPDATE policies SET weights = $2, blended_with = $3, served_at = $4 WHERE tenant_id = $1

-- name: questions
SELECT memory_id, questions FROM memories
WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])
ORDER BY memory_id
FOR UPDATE

-- name: value
UPDATE memories SET
    exposure = exposure + ($3::jsonb -> memory_id ->> 0)::double precision,
    exposed_use = exposed_use + ($3::jsonb -> memory_id ->> 1)::double precision,
    questions = nullif($3::jsonb -> memory_id -> 2, 'null')
WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: record
INSERT INTO policy_events (tenant_id, at, steps, trained, kind, version, told, ordered, actor, why)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: forget_taught
UPDATE lessons SET taught = NULL, taught_in = NULL
WHERE tenant_id = $1 AND taught IS NOT NULL AND place IS NULL AND completed_at < $2

-- name: forget_lessons
DELETE FROM lessons WHERE tenant_id = $1 AND place IS NULL AND completed_at < $2

-- name: put_out
INSERT INTO outbox (tenant_id, topic, key, value, headers, written_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: serving
SELECT coalesce(policy.version, 0), coalesce(policy.weights, common_policy.weights),
    coalesce(policy.exploration, 0), coalesce(policy.served_at, made_at)
FROM (SELECT $1::text AS tenant_id) AS asked
LEFT JOIN policies AS policy ON policy.tenant_id = $1
LEFT JOIN common_policy ON policy.weights IS NULL AND NOT opted_out($1)

-- name: state
SELECT version, trained, steps, exploration, state, weights, served_at,
    (SELECT count(*) FROM lessons WHERE tenant_id = $1 AND place IS NOT NULL),
    contribution IS NOT NULL AND NOT opted_out($1), blended_with > 0
FROM policies
WHERE tenant_id = $1

-- name: history
SELECT at, steps, trained, kind, version, told, ordered, actor, why
FROM policy_events
WHERE tenant_id = $1
ORDER BY id DESC
LIMIT $2

-- name: orders
SELECT steps, ordered FROM policy_events WHERE tenant_id = $1 AND ordered IS NOT NULL ORDER BY id

-- name: gathering
SELECT pg_try_advisory_xact_lock($1)

-- name: contributions_changed
SELECT contributions_changed()

-- name: gather
SELECT gather_contributions()

-- name: put_common
INSERT INTO common_policy AS common (number, pool, weights, made_at) VALUES (1, $1, $2, $3)
ON CONFLICT (one) DO UPDATE SET
    number = common.number + 1, pool = excluded.pool, weights = excluded.weights,
    made_at = excluded.made_at

-- name: stale
SELECT stale_policies($1)
