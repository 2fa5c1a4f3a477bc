-- name: enter_tenant
-- Every statement of a join finds its rows by an index, however few or many rows there are; what
-- the planner knew when a connection was young must not decide otherwise.
SELECT
    set_config('app.tenant_id', $1, true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)

-- name: forget_seen
DELETE FROM inbox WHERE tenant_id = $1 AND consumer = $2 AND event_id = $3

-- name: unpark
DELETE FROM parked_signals
WHERE tenant_id = $1 AND request_id = ANY ($2::text[])
RETURNING kind, signal, received_at, origin

-- name: due_by
SELECT tenant_id, searches, waiting, sessions FROM due_by($1, $2, $3)

-- name: give_up
DELETE FROM open_trajectories
WHERE tenant_id = $1 AND request_id = ANY ($2::text[]) AND course IS NULL AND noted_at <= $3
RETURNING request_id

-- name: open_at
SELECT request_id
FROM open_trajectories
WHERE tenant_id = $1 AND session_id = $2 AND course IS NOT NULL
    AND asked_at <= $3 AND deadline_at >= $3 AND correct_until >= $4
LIMIT 1

-- name: forget_sessions
DELETE FROM abandonments
WHERE tenant_id = $1 AND session_id = ANY ($2::text[]) AND forget_at <= $3
RETURNING session_id, occurred_at, signal, received_at, origin

-- name: forget
SELECT forget_trajectories($1, $2)

-- name: forget_inbox
SELECT forget_inbox($1, $2)

-- name: take_outbox
SELECT * FROM take_outbox($1)

-- name: refuse
INSERT INTO outbox (tenant_id, topic, key, value, headers, written_at, refused_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: release
SELECT release_refused($1)

-- name: health
SELECT * FROM join_health()

-- The functions of batches; see migration 0010.

-- name: mark_seen
SELECT * FROM mark_seen($1, $2, $3, $4, $5)

-- name: lock_sessions
SELECT lock_sessions($1)

-- name: open
SELECT * FROM open_searches($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: abandon
SELECT * FROM abandon_sessions($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: standings
SELECT * FROM standings($1, $2, $3, $4)

-- name: record
SELECT * FROM record_verdicts($1, $2, $3, $4, $5, $6, $7, $8)

-- name: meet
SELECT * FROM meet_searches($1, $2, $3, $4)

-- name: forgotten
SELECT * FROM forgotten_searches($1, $2, $3)

-- name: park
SELECT park_signals($1, $2, $3, $4, $5, $6, $7, $8)

-- name: put_out
SELECT put_out($1, $2, $3, $4, $5, $6, $7)

-- name: count_uses
SELECT * FROM count_uses($1, $2, $3, $4)

-- name: known_memories
SELECT * FROM known_memories($1, $2, $3)
