-- Searches whose outcome is open or can still be corrected. A row without a course is not a search
-- yet: a signal about it came first, and waits; whoever brings the search meets it by its key.
CREATE TABLE open_trajectories (
    tenant_id text NOT NULL,
    request_id text NOT NULL,
    noted_at timestamptz NOT NULL,
    session_id text,
    query text,
    tokens_used bigint,
    succeeded boolean,
    started_at timestamptz,
    completed_at timestamptz,
    deadline_at timestamptz,
    correct_until timestamptz,
    forget_at timestamptz,
    course text,
    known text NOT NULL DEFAULT '{}',
    outcome text,
    revision integer NOT NULL DEFAULT -1,
    settled boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX open_trajectories_sessions
    ON open_trajectories (tenant_id, session_id, started_at, request_id COLLATE "C")
    WHERE course IS NOT NULL;
CREATE INDEX open_trajectories_due ON open_trajectories (deadline_at)
    WHERE NOT settled AND course IS NOT NULL;
CREATE INDEX open_trajectories_waiting ON open_trajectories (noted_at) WHERE course IS NULL;
CREATE INDEX open_trajectories_over ON open_trajectories (forget_at) WHERE settled;

-- Signals that came before their search, as they came.
CREATE TABLE parked_signals (
    tenant_id text NOT NULL,
    request_id text NOT NULL,
    kind text NOT NULL,
    event_id text NOT NULL,
    signal text NOT NULL,
    received_at timestamptz NOT NULL,
    origin text NOT NULL,
    PRIMARY KEY (tenant_id, request_id, kind, event_id)
);

-- Sessions abandoned as a whole: known for as long as a search may turn up that was open then.
CREATE TABLE abandonments (
    tenant_id text NOT NULL,
    session_id text NOT NULL,
    event_id text NOT NULL,
    occurred_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    forget_at timestamptz NOT NULL,
    signal text NOT NULL,
    origin text NOT NULL,
    PRIMARY KEY (tenant_id, session_id, event_id)
);
CREATE INDEX abandonments_due ON abandonments (forget_at);

-- What is to be published, written with what it tells of.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    topic text NOT NULL,
    key bytea,
    value bytea,
    headers text NOT NULL,
    written_at timestamptz NOT NULL
);

-- The wall around each. Owners are bound by it too, but must see whose turn it is: the functions
-- below run as the owner, and are all that the service can do across tenants.
DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['open_trajectories', 'parked_signals', 'abandonments', 'outbox']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format(
            'CREATE POLICY tenant_wall ON %I '
            'USING (tenant_id = current_setting(''app.tenant_id'', true)) '
            'WITH CHECK (tenant_id = current_setting(''app.tenant_id'', true))',
            walled
        );
        EXECUTE format('CREATE POLICY owner ON %I TO CURRENT_USER USING (true)', walled);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO memstream_app', walled);
    END LOOP;
END
$$;

-- What is due, by tenant: searches to label, searches that signals waited for in vain, and sessions
-- abandoned long ago. Nothing but names is told.
CREATE FUNCTION due_by(until timestamptz, patience interval, most integer)
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

-- Forgets searches that can no longer be corrected, and tells how many.
CREATE FUNCTION forget_trajectories(until timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off AS $$
    WITH gone AS (
        DELETE FROM open_trajectories
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM open_trajectories
            WHERE settled AND forget_at <= until
            ORDER BY forget_at LIMIT most FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- Takes the oldest messages that nobody else is publishing; they are gone once the transaction is.
CREATE FUNCTION take_outbox(most integer)
RETURNS TABLE (id bigint, topic text, key bytea, value bytea, headers text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_seqscan = off AS $$
    DELETE FROM outbox
    WHERE outbox.id = ANY (ARRAY(
        SELECT oldest.id FROM outbox AS oldest ORDER BY oldest.id LIMIT most FOR UPDATE SKIP LOCKED
    ))
    RETURNING outbox.id, outbox.topic, outbox.key, outbox.value, outbox.headers
$$;

-- How the join is doing, in numbers over all tenants. A million open searches take seconds to count,
-- so of many it tells what the last vacuum or analysis found.
CREATE FUNCTION join_health()
RETURNS TABLE (open bigint, parked bigint, outbox bigint, oldest_at timestamptz)
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
        (SELECT count(*) FROM (SELECT FROM outbox LIMIT 100000) AS counted),
        (SELECT written_at FROM outbox ORDER BY id LIMIT 1)
$$;

REVOKE ALL ON FUNCTION due_by, forget_trajectories, take_outbox, join_health FROM PUBLIC;
GRANT EXECUTE ON FUNCTION due_by, forget_trajectories, take_outbox, join_health
    TO memstream_app;
