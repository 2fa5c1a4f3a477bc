-- What was seen is known for a while, and then forgotten: by the later of when it was noted and when
-- it was written, as either may be wrong. Items are known for ever: one of long ago that is read for
-- the first time must be stored, so none can be refused for its age.
ALTER TABLE inbox ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX inbox_over ON inbox (greatest(noted_at, seen_at)) WHERE consumer <> 'items';

CREATE POLICY owner ON inbox TO CURRENT_USER USING (true);

-- Forgets what was seen before a moment, of all tenants, and tells how many events these were.
CREATE FUNCTION forget_inbox(before timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off SET enable_sort = on AS $$
    WITH gone AS (
        DELETE FROM inbox
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM inbox
            WHERE consumer <> 'items' AND greatest(noted_at, seen_at) < before
            ORDER BY greatest(noted_at, seen_at) LIMIT most FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE ALL ON FUNCTION forget_inbox FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_inbox TO memstream_app;
