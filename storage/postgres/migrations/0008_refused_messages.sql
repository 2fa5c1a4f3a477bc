-- Messages that the broker does not take, because they are too large for it: they wait here, out of
-- the way of the others, until they are tried again.
ALTER TABLE outbox ADD COLUMN refused_at timestamptz;
CREATE INDEX outbox_next ON outbox (id) WHERE refused_at IS NULL;
CREATE INDEX outbox_refused ON outbox (refused_at) WHERE refused_at IS NOT NULL;

DROP FUNCTION take_outbox;
CREATE FUNCTION take_outbox(most integer)
RETURNS TABLE (
    id bigint, tenant_id text, topic text, key bytea, value bytea, headers text,
    written_at timestamptz
)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off AS $$
    DELETE FROM outbox
    WHERE outbox.id = ANY (ARRAY(
        SELECT oldest.id FROM outbox AS oldest
        WHERE oldest.refused_at IS NULL
        ORDER BY oldest.id LIMIT most FOR UPDATE SKIP LOCKED
    ))
    RETURNING
        outbox.id, outbox.tenant_id, outbox.topic, outbox.key, outbox.value, outbox.headers,
        outbox.written_at
$$;

-- Lets what was refused until a moment be tried again, and tells how many that are.
CREATE FUNCTION release_refused(until timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off AS $$
    WITH released AS (
        UPDATE outbox SET refused_at = NULL
        WHERE id = ANY (ARRAY(
            SELECT refused.id FROM outbox AS refused
            WHERE refused.refused_at <= until FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM released
$$;

-- As before, and how many messages were refused; those do not count as waiting.
DROP FUNCTION join_health;
CREATE FUNCTION join_health()
RETURNS TABLE (
    open bigint, parked bigint, outbox bigint, oldest_at timestamptz, refused bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off AS $$
    SELECT
        (
            SELECT CASE WHEN reltuples > 50000 THEN reltuples::bigint ELSE (
                SELECT count(*) FROM (
                    SELECT FROM open_trajectories
                    WHERE NOT settled AND course IS NOT NULL LIMIT 100000
                ) AS counted
            ) END
            FROM pg_class WHERE oid = 'memstream.open_trajectories_due'::regclass
        ),
        (SELECT count(*) FROM (SELECT FROM parked_signals LIMIT 100000) AS counted),
        (SELECT count(*) FROM (SELECT FROM outbox WHERE refused_at IS NULL LIMIT 100000) AS counted),
        (SELECT written_at FROM outbox WHERE refused_at IS NULL ORDER BY id LIMIT 1),
        (SELECT count(*) FROM outbox WHERE refused_at IS NOT NULL)
$$;

REVOKE ALL ON FUNCTION take_outbox, release_refused, join_health FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_outbox, release_refused, join_health TO memstream_app;
