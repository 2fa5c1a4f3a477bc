-- name: enter_tenant
-- Every statement of a join finds its rows by an index, however few or many rows there are; what
-- the planner knew when a connection was young must not decide otherwise.
SELECT
    set_config('app.tenant_id', $1, true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)

-- name: mark_seen
INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
SELECT $1, $2, event_id, seen_at
FROM unnest($3::text[], $4::timestamptz[]) AS event (event_id, seen_at)
ON CONFLICT DO NOTHING
RETURNING event_id

-- name: forget_seen
DELETE FROM inbox WHERE tenant_id = $1 AND consumer = $2 AND event_id = $3

-- name: open
INSERT INTO open_trajectories AS search (
    tenant_id, request_id, noted_at, session_id, query, tokens_used, succeeded, started_at,
    completed_at, deadline_at, correct_until, forget_at, course
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (tenant_id, request_id) DO UPDATE SET
    session_id = excluded.session_id, query = excluded.query, tokens_used = excluded.tokens_used,
    succeeded = excluded.succeeded, started_at = excluded.started_at,
    completed_at = excluded.completed_at, deadline_at = excluded.deadline_at,
    correct_until = excluded.correct_until, forget_at = excluded.forget_at,
    course = excluded.course
WHERE search.course IS NULL

-- name: previous
SELECT previous.request_id
FROM unnest($2::text[], $3::timestamptz[], $4::text[]) AS new (session_id, started_at, request_id)
CROSS JOIN LATERAL (
    SELECT request_id
    FROM open_trajectories
    WHERE tenant_id = $1 AND session_id = new.session_id AND course IS NOT NULL
        AND (started_at, request_id COLLATE "C") < (new.started_at, new.request_id COLLATE "C")
    ORDER BY started_at DESC, request_id COLLATE "C" DESC
    LIMIT 1
) AS previous

-- name: lock
SELECT request_id FROM open_trajectories
WHERE tenant_id = $1 AND request_id = ANY ($2::text[]) AND course IS NOT NULL
FOR UPDATE

-- name: lock_if_free
-- What somebody else is judging need not be judged by us.
SELECT request_id FROM open_trajectories
WHERE tenant_id = $1 AND request_id = ANY ($2::text[]) AND course IS NOT NULL
FOR UPDATE SKIP LOCKED

-- name: standing
-- A statement of its own, of what has been locked: with its lock a row is as it is now, but what
-- else a statement sees is as it was before it waited for that lock.
SELECT
    request_id, query, tokens_used, succeeded, completed_at, correct_until, known, outcome,
    revision, settled,
    (
        SELECT later.query
        FROM open_trajectories AS later
        WHERE later.tenant_id = $1 AND later.session_id = search.session_id
            AND later.course IS NOT NULL
            AND (later.started_at, later.request_id COLLATE "C")
                > (search.started_at, search.request_id COLLATE "C")
            AND later.started_at <= search.deadline_at
        ORDER BY later.started_at, later.request_id COLLATE "C"
        LIMIT 1
    ) AS next_query,
    EXISTS (
        SELECT FROM abandonments
        WHERE abandonments.tenant_id = $1
            AND abandonments.session_id = search.session_id
            AND occurred_at BETWEEN search.started_at AND search.deadline_at
            AND received_at <= search.correct_until
    ) AS abandoned
FROM open_trajectories AS search
WHERE tenant_id = $1 AND request_id = ANY ($2::text[]) AND course IS NOT NULL

-- name: update
UPDATE open_trajectories SET known = $3, outcome = $4, revision = $5, settled = $6
WHERE tenant_id = $1 AND request_id = $2

-- name: courses
SELECT request_id, course FROM open_trajectories
WHERE tenant_id = $1 AND request_id = ANY ($2::text[])

-- name: wait_for
-- Returns those that turn out to be there: they came since they were looked for.
WITH waiting AS (
    INSERT INTO open_trajectories AS search (tenant_id, request_id, noted_at)
    SELECT $1, request_id, $3 FROM unnest($2::text[]) AS missing (request_id)
    ON CONFLICT (tenant_id, request_id) DO UPDATE SET noted_at = excluded.noted_at
    RETURNING request_id, course IS NOT NULL AS there
)
SELECT request_id FROM waiting WHERE there

-- name: park
INSERT INTO parked_signals (tenant_id, request_id, kind, event_id, signal, received_at, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING

-- name: unpark
DELETE FROM parked_signals
WHERE tenant_id = $1 AND request_id = ANY ($2::text[])
RETURNING kind, signal, received_at, origin

-- name: abandon
INSERT INTO abandonments (
    tenant_id, session_id, event_id, occurred_at, received_at, forget_at, signal, origin
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING

-- name: open_at
SELECT open.request_id
FROM unnest($2::text[], $3::timestamptz[], $4::timestamptz[]) AS end_of (session_id, at, heard_at)
CROSS JOIN LATERAL (
    SELECT request_id
    FROM open_trajectories
    WHERE tenant_id = $1 AND session_id = end_of.session_id AND course IS NOT NULL
        AND started_at <= end_of.at AND deadline_at >= end_of.at
        AND correct_until >= end_of.heard_at
    OFFSET 0
) AS open

-- name: put_out
INSERT INTO outbox (tenant_id, topic, key, value, headers, written_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: due_by
SELECT tenant_id, searches, waiting, sessions FROM due_by($1, $2, $3)

-- name: give_up
DELETE FROM open_trajectories
WHERE tenant_id = $1 AND request_id = ANY ($2::text[]) AND course IS NULL AND noted_at <= $3
RETURNING request_id

-- name: forget_sessions
DELETE FROM abandonments
WHERE tenant_id = $1 AND session_id = ANY ($2::text[]) AND forget_at <= $3
RETURNING session_id, occurred_at, signal, received_at, origin

-- name: forget
SELECT forget_trajectories($1, $2)

-- name: take_outbox
SELECT * FROM take_outbox($1)

-- name: health
SELECT * FROM join_health()
