-- A search that comes long after its window ended is due only once all has been read that was there
-- when it came: its signals may be right behind it.
CREATE OR REPLACE FUNCTION due_by(until timestamptz, patience interval, most integer)
RETURNS TABLE (tenant_id text, searches text[], waiting text[], sessions text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off SET enable_sort = on AS $$
    SELECT
        tenant_id,
        coalesce(array_agg(name) FILTER (WHERE what = 'search'), '{}'),
        coalesce(array_agg(name) FILTER (WHERE what = 'waiting'), '{}'),
        coalesce(array_agg(DISTINCT name) FILTER (WHERE what = 'session'), '{}')
    FROM (
        (
            SELECT 'search' AS what, search.tenant_id, search.request_id AS name
            FROM open_trajectories AS search
            WHERE NOT settled AND course IS NOT NULL AND deadline_at <= until
                AND noted_at <= until
            ORDER BY deadline_at LIMIT most
        )
        UNION ALL
        (
            SELECT 'waiting', search.tenant_id, search.request_id
            FROM open_trajectories AS search
            WHERE course IS NULL AND noted_at <= until - patience
            ORDER BY noted_at LIMIT most
        )
        UNION ALL
        (
            SELECT 'session', session.tenant_id, session.session_id
            FROM abandonments AS session
            WHERE forget_at <= until
            ORDER BY forget_at LIMIT most
        )
    ) AS due
    GROUP BY tenant_id
$$;
