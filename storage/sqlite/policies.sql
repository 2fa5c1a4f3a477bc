-- name: open
INSERT INTO policies (tenant_id) VALUES (?) ON CONFLICT DO NOTHING

-- name: progress
SELECT steps, places, newest_at FROM policies WHERE tenant_id = ?

-- name: pending
SELECT trajectory_id, revision, completed_at, place, lesson, taught, taught_in
FROM lessons
WHERE tenant_id = ? AND place IS NOT NULL

-- name: known
SELECT trajectory_id, revision, completed_at, place, lesson, taught, taught_in
FROM lessons
WHERE tenant_id = ? AND trajectory_id IN (SELECT value FROM json_each(?))

-- name: learner
SELECT state, contribution, contributed, pooled, writes, exposure, exposed_use, version, weights,
    exploration, served_at
FROM policies
WHERE tenant_id = ?

-- name: common
SELECT number, pool FROM common_policy WHERE ? NOT IN opted_out

-- name: keep
INSERT INTO lessons (tenant_id, trajectory_id, revision, completed_at, place, lesson, taught,
    taught_in)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, trajectory_id) DO UPDATE SET
    revision = excluded.revision, place = excluded.place, lesson = excluded.lesson,
    taught = excluded.taught, taught_in = excluded.taught_in

-- name: note_progress
UPDATE policies SET places = ?2, newest_at = ?3 WHERE tenant_id = ?1

-- name: save
UPDATE policies SET
    steps = ?3, trained = ?4, version = ?5, exploration = ?6, state = ?7, contribution = ?8,
    contributed = ?9, exposure = ?10, exposed_use = ?11, writes = writes + 1
WHERE tenant_id = ?1 AND steps = ?2
RETURNING steps

-- name: serve
UPDATE policies SET weights = ?2, blended_with = ?3, served_at = ?4 WHERE tenant_id = ?1

-- name: value
UPDATE memories SET exposure = exposure + ?3, exposed_use = exposed_use + ?4
WHERE tenant_id = ?1 AND memory_id = ?2 AND NOT deleted

-- name: questions
SELECT questions FROM memories WHERE tenant_id = ? AND memory_id = ? AND NOT deleted

-- name: ask
UPDATE memories SET questions = ?3 WHERE tenant_id = ?1 AND memory_id = ?2 AND NOT deleted

-- name: record
INSERT INTO policy_events (tenant_id, at, steps, trained, kind, version, told, ordered, actor, why)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: forget_taught
UPDATE lessons SET taught = NULL, taught_in = NULL
WHERE tenant_id = ? AND taught IS NOT NULL AND place IS NULL AND completed_at < ?

-- name: forget_lessons
DELETE FROM lessons WHERE tenant_id = ? AND place IS NULL AND completed_at < ?

-- name: serving
SELECT coalesce(policy.version, 0), coalesce(policy.weights, common_policy.weights),
    coalesce(policy.exploration, 0), coalesce(policy.served_at, made_at)
FROM (SELECT ?1 AS tenant_id) AS asked
LEFT JOIN policies AS policy ON policy.tenant_id = ?1
LEFT JOIN common_policy ON policy.weights IS NULL AND ?1 NOT IN opted_out

-- name: state
SELECT version, trained, steps, exploration, state, weights, served_at,
    (SELECT count(*) FROM lessons WHERE tenant_id = ?1 AND place IS NOT NULL),
    contribution IS NOT NULL AND ?1 NOT IN opted_out, blended_with > 0
FROM policies
WHERE tenant_id = ?1

-- name: history
SELECT at, steps, trained, kind, version, told, ordered, actor, why
FROM policy_events
WHERE tenant_id = ?
ORDER BY id DESC
LIMIT ?

-- name: orders
SELECT steps, ordered FROM policy_events WHERE tenant_id = ? AND ordered IS NOT NULL ORDER BY id

-- name: given
CASE WHEN tenant_id IN opted_out THEN NULL ELSE contributed END

-- name: contributions_changed
SELECT EXISTS (SELECT 1 FROM policies WHERE pooled_as IS NOT {given})

-- name: gather
UPDATE policies SET
    pooled = CASE WHEN tenant_id IN opted_out THEN NULL ELSE contribution END,
    pooled_as = {given}
WHERE pooled_as IS NOT {given}

-- name: gathered
SELECT pooled FROM policies WHERE pooled IS NOT NULL ORDER BY tenant_id

-- name: put_common
INSERT INTO common_policy (one, number, pool, weights, made_at) VALUES (1, 1, ?, ?, ?)
ON CONFLICT (one) DO UPDATE SET
    number = number + 1, pool = excluded.pool, weights = excluded.weights,
    made_at = excluded.made_at

-- name: stale
SELECT tenant_id FROM policies
WHERE weights IS NOT NULL AND blended_with <> CASE
    WHEN tenant_id IN opted_out THEN 0
    ELSE coalesce((SELECT number FROM common_policy), 0)
END
ORDER BY tenant_id
LIMIT ?
