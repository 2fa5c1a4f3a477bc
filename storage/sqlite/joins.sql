-- name: mark_seen
INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: forget_seen
DELETE FROM inbox WHERE tenant_id = ? AND consumer = ? AND event_id = ?

-- name: forget_inbox
DELETE FROM inbox
WHERE (tenant_id, consumer, event_id) IN (
    SELECT tenant_id, consumer, event_id FROM inbox
    WHERE consumer <> 'items' AND max(noted_at, seen_at) < ?
    ORDER BY max(noted_at, seen_at)
    LIMIT ?
)

-- name: open
INSERT INTO open_trajectories (
    tenant_id, request_id, noted_at, session_id, query, tokens_used, succeeded, asked_at,
    completed_at, deadline_at, correct_until, forget_at, course
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, request_id) DO UPDATE SET
    session_id = excluded.session_id, query = excluded.query, tokens_used = excluded.tokens_used,
    succeeded = excluded.succeeded, asked_at = excluded.asked_at,
    completed_at = excluded.completed_at, deadline_at = excluded.deadline_at,
    correct_until = excluded.correct_until, forget_at = excluded.forget_at,
    course = excluded.course
WHERE open_trajectories.course IS NULL

-- name: previous
SELECT request_id
FROM open_trajectories
WHERE tenant_id = ? AND session_id = ? AND course IS NOT NULL
    AND (asked_at, request_id) < (?, ?)
ORDER BY asked_at DESC, request_id DESC
LIMIT 1

-- name: standing
SELECT
    request_id, query, tokens_used, succeeded, completed_at, correct_until, known, outcome,
    revision, settled,
    (
        SELECT later.query
        FROM open_trajectories AS later
        WHERE later.tenant_id = search.tenant_id AND later.session_id = search.session_id
            AND later.course IS NOT NULL
            AND (later.asked_at, later.request_id) > (search.asked_at, search.request_id)
            AND later.asked_at <= search.deadline_at
        ORDER BY later.asked_at, later.request_id
        LIMIT 1
    ) AS next_query,
    EXISTS (
        SELECT 1
        FROM abandonments
        WHERE abandonments.tenant_id = search.tenant_id
            AND abandonments.session_id = search.session_id
            AND occurred_at BETWEEN search.asked_at AND search.deadline_at
            AND received_at <= search.correct_until
    ) AS abandoned
FROM open_trajectories AS search
WHERE tenant_id = ? AND request_id = ? AND course IS NOT NULL

-- name: update
UPDATE open_trajectories SET known = ?, outcome = ?, revision = ?, settled = ?
WHERE tenant_id = ? AND request_id = ?

-- name: course
SELECT course FROM open_trajectories WHERE tenant_id = ? AND request_id = ?

-- name: was_decided
SELECT 1 FROM inbox WHERE tenant_id = ? AND consumer = 'join.decision' AND event_id = ?

-- name: wait_for
INSERT INTO open_trajectories (tenant_id, request_id, noted_at)
VALUES (?, ?, ?)
ON CONFLICT (tenant_id, request_id) DO UPDATE SET noted_at = excluded.noted_at

-- name: park
INSERT INTO parked_signals (tenant_id, request_id, kind, event_id, signal, received_at, origin)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: unpark
DELETE FROM parked_signals
WHERE tenant_id = ? AND request_id = ?
RETURNING kind, signal, received_at, origin

-- name: abandon
INSERT INTO abandonments (
    tenant_id, session_id, event_id, occurred_at, received_at, forget_at, signal, origin
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: open_at
SELECT request_id
FROM open_trajectories
WHERE tenant_id = ?1 AND session_id = ?2 AND course IS NOT NULL
    AND asked_at <= ?3 AND deadline_at >= ?3 AND correct_until >= ?4

-- name: put_out
INSERT INTO outbox (tenant_id, topic, key, value, headers, written_at)
VALUES (?, ?, ?, ?, ?, ?)

-- name: due
SELECT tenant_id, request_id
FROM open_trajectories
-- What comes long after its window ended is due once all has been read that was there when it came.
WHERE NOT settled AND course IS NOT NULL AND deadline_at <= ?1 AND noted_at <= ?1
ORDER BY deadline_at
LIMIT ?2

-- name: waited_in_vain
DELETE FROM open_trajectories
WHERE rowid IN (
    SELECT rowid FROM open_trajectories WHERE course IS NULL AND noted_at <= ? LIMIT ?
)
RETURNING tenant_id, request_id

-- name: abandoned_long_ago
DELETE FROM abandonments
WHERE (tenant_id, session_id, event_id) IN (
    SELECT tenant_id, session_id, event_id FROM abandonments WHERE forget_at <= ? LIMIT ?
)
RETURNING tenant_id, session_id, occurred_at, signal, received_at, origin

-- name: forget
DELETE FROM open_trajectories
WHERE rowid IN (
    SELECT rowid FROM open_trajectories WHERE settled AND forget_at <= ? LIMIT ?
)

-- name: to_publish
SELECT id, topic, key, value, headers FROM outbox WHERE refused_at IS NULL ORDER BY id LIMIT ?

-- name: published
DELETE FROM outbox WHERE id = ?

-- name: refuse
UPDATE outbox SET refused_at = ? WHERE id = ?

-- name: release
UPDATE outbox SET refused_at = NULL WHERE refused_at <= ? RETURNING id

-- name: health
SELECT
    (SELECT count(*) FROM open_trajectories WHERE NOT settled AND course IS NOT NULL),
    (SELECT count(*) FROM parked_signals),
    (SELECT count(*) FROM outbox WHERE refused_at IS NULL),
    (SELECT min(written_at) FROM outbox WHERE refused_at IS NULL),
    (SELECT count(*) FROM outbox WHERE refused_at IS NOT NULL)
