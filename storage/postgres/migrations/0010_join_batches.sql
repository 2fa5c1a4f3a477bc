-- The join's statements for a batch of many tenants: a function goes from tenant to tenant and enters
-- each before it touches its rows. All run as the role that calls them, behind the same wall, and
-- name the tenant in each statement as well. A tenant's rows are those up to its end in the arrays,
-- from the end of the one before it.
--
-- Whoever judges searches first locks them all, tenant by tenant and in the order of their ids: so
-- nobody who waits for a search has locked one that comes after it, and there are no deadlocks.
--
-- Every statement finds its rows by an index, however few or many rows there are; what the planner
-- knew when a connection was young must not decide otherwise.

-- What happens in a session is in the order in which it was asked for, not in which it was answered.
ALTER TABLE open_trajectories RENAME COLUMN started_at TO asked_at;

-- Marks events as seen and returns those that were not before.
CREATE FUNCTION mark_seen(
    tenants text[], ends integer[], event_ids text[], moments timestamptz[], seen_by text
)
RETURNS TABLE (tenant_id text, event_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        RETURN QUERY
        INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
        SELECT tenant, seen_by, event.id, event.moment
        FROM unnest(event_ids[first:last], moments[first:last]) AS event (id, moment)
        ON CONFLICT DO NOTHING
        RETURNING tenant_id, event_id;
        first := last + 1;
    END LOOP;
END
$$;

-- Lets nobody else open searches of these sessions, or end them, until the transaction does. Who opens
-- a search does not see an end that is not committed yet, nor who ends a session such a search; a
-- sweep in between would settle it for good. Called before any search is locked, in one order.
CREATE FUNCTION lock_sessions(sessions text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    session bigint;
BEGIN
    FOR session IN
        SELECT DISTINCT hashtextextended(name, 0) AS hashed FROM unnest(sessions) AS name
        ORDER BY hashed
    LOOP
        PERFORM pg_advisory_xact_lock(session);
    END LOOP;
END
$$;

-- Opens searches and locks those before them in their sessions. Returns the latter and, with a kind,
-- the signals that waited for what was opened.
CREATE FUNCTION open_searches(
    tenants text[], ends integer[], request_ids text[], session_ids text[], queries text[],
    tokens bigint[], successes boolean[], moments timestamptz[], completions timestamptz[],
    deadlines timestamptz[], corrections timestamptz[], forgets timestamptz[], courses text[],
    noted timestamptz
)
RETURNS TABLE (
    tenant_id text, request_id text, kind text, signal text, received_at timestamptz, origin text
)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
    befores text[];
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        befores := ARRAY(
            SELECT DISTINCT previous.request_id
            FROM unnest(session_ids[first:last], moments[first:last], request_ids[first:last])
                AS new (session_id, asked_at, request_id)
            CROSS JOIN LATERAL (
                SELECT search.request_id
                FROM open_trajectories AS search
                WHERE search.tenant_id = tenant AND search.session_id = new.session_id
                    AND search.course IS NOT NULL
                    AND (search.asked_at, search.request_id COLLATE "C")
                        < (new.asked_at, new.request_id COLLATE "C")
                ORDER BY search.asked_at DESC, search.request_id COLLATE "C" DESC
                LIMIT 1
            ) AS previous
            WHERE previous.request_id <> ALL (request_ids[first:last])
        );
        INSERT INTO open_trajectories AS search (
            tenant_id, request_id, noted_at, session_id, query, tokens_used, succeeded,
            asked_at, completed_at, deadline_at, correct_until, forget_at, course
        )
        SELECT tenant, new.request_id, noted, new.session_id, new.query, new.tokens_used,
            new.succeeded, new.asked_at, new.completed_at, new.deadline_at, new.correct_until,
            new.forget_at, new.course
        FROM unnest(
            -- Those before come with nothing but their ids: they are there, and only locked.
            request_ids[first:last] || befores, session_ids[first:last], queries[first:last],
            tokens[first:last], successes[first:last], moments[first:last],
            completions[first:last], deadlines[first:last], corrections[first:last],
            forgets[first:last], courses[first:last]
        ) AS new (
            request_id, session_id, query, tokens_used, succeeded, asked_at, completed_at,
            deadline_at, correct_until, forget_at, course
        )
        ORDER BY new.request_id COLLATE "C"
        ON CONFLICT (tenant_id, request_id) DO UPDATE SET
            session_id = excluded.session_id, query = excluded.query,
            tokens_used = excluded.tokens_used, succeeded = excluded.succeeded,
            asked_at = excluded.asked_at, completed_at = excluded.completed_at,
            deadline_at = excluded.deadline_at, correct_until = excluded.correct_until,
            forget_at = excluded.forget_at, course = excluded.course
        WHERE search.course IS NULL;
        RETURN QUERY
        SELECT tenant, before, NULL::text, NULL::text, NULL::timestamptz, NULL::text
        FROM unnest(befores) AS before;
        RETURN QUERY
        DELETE FROM parked_signals AS parked
        WHERE parked.tenant_id = tenant AND parked.request_id = ANY (request_ids[first:last])
        RETURNING tenant, parked.request_id, parked.kind, parked.signal, parked.received_at,
            parked.origin;
        first := last + 1;
    END LOOP;
END
$$;

-- Locks searches, and returns those that are not there yet: whoever brings one meets its row.
CREATE FUNCTION meet_searches(
    tenants text[], ends integer[], request_ids text[], noted timestamptz
)
RETURNS TABLE (tenant_id text, request_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        RETURN QUERY
        INSERT INTO open_trajectories AS search (tenant_id, request_id, noted_at)
        SELECT tenant, named.request_id, noted
        FROM unnest(request_ids[first:last]) AS named (request_id)
        ON CONFLICT (tenant_id, request_id) DO UPDATE SET noted_at = excluded.noted_at
        WHERE search.course IS NULL
        RETURNING tenant, search.request_id;
        first := last + 1;
    END LOOP;
END
$$;

-- Returns those of the searches just met that were decided once: they are not to be waited for.
CREATE FUNCTION forgotten_searches(tenants text[], ends integer[], request_ids text[])
RETURNS TABLE (tenant_id text, request_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
    decided text[];
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        -- One by one: as a join it reads all that the tenant has ever decided, for each search.
        decided := ARRAY(
            SELECT named.request_id
            FROM unnest(request_ids[first:last]) AS named (request_id)
            CROSS JOIN LATERAL (
                SELECT FROM inbox
                WHERE inbox.tenant_id = tenant AND inbox.consumer = 'join.decision'
                    AND inbox.event_id = named.request_id
                OFFSET 0
            ) AS seen
        );
        first := last + 1;
        CONTINUE WHEN cardinality(decided) = 0;
        RETURN QUERY
        DELETE FROM open_trajectories AS search
        WHERE search.tenant_id = tenant AND search.request_id = ANY (decided)
            AND search.course IS NULL
            AND NOT EXISTS (
                SELECT FROM parked_signals AS parked
                WHERE parked.tenant_id = tenant AND parked.request_id = search.request_id
            )
        RETURNING tenant, search.request_id;
    END LOOP;
END
$$;

-- Notes that sessions were abandoned, and returns the searches that were open then.
CREATE FUNCTION abandon_sessions(
    tenants text[], ends integer[], session_ids text[], event_ids text[], occurred timestamptz[],
    received timestamptz[], signals text[], origins text[], forget timestamptz
)
RETURNS TABLE (tenant_id text, request_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        INSERT INTO abandonments (
            tenant_id, session_id, event_id, occurred_at, received_at, forget_at, signal, origin
        )
        SELECT tenant, new.session_id, new.event_id, new.occurred_at, new.received_at, forget,
            new.signal, new.origin
        FROM unnest(
            session_ids[first:last], event_ids[first:last], occurred[first:last],
            received[first:last], signals[first:last], origins[first:last]
        ) AS new (session_id, event_id, occurred_at, received_at, signal, origin)
        ON CONFLICT DO NOTHING;
        RETURN QUERY
        SELECT tenant, open.request_id
        FROM unnest(session_ids[first:last], occurred[first:last], received[first:last])
            AS end_of (session_id, at, heard_at)
        CROSS JOIN LATERAL (
            SELECT search.request_id
            FROM open_trajectories AS search
            WHERE search.tenant_id = tenant AND search.session_id = end_of.session_id
                AND search.course IS NOT NULL
                AND search.asked_at <= end_of.at AND search.deadline_at >= end_of.at
                AND search.correct_until >= end_of.heard_at
            OFFSET 0
        ) AS open;
        first := last + 1;
    END LOOP;
END
$$;

-- Returns how searches stand that have been locked: with its lock a row is as it is now, but what
-- else a statement sees is as it was before it waited for that lock. With only_free, whatever nobody
-- else is judging is locked first.
CREATE FUNCTION standings(
    tenants text[], ends integer[], request_ids text[], only_free boolean
)
RETURNS TABLE (
    tenant_id text, request_id text, query text, tokens_used bigint, succeeded boolean,
    completed_at timestamptz, correct_until timestamptz, known text, outcome text,
    revision integer, settled boolean, next_query text, abandoned boolean
)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
    locked text[];
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        IF only_free THEN
            locked := ARRAY(
                SELECT search.request_id FROM open_trajectories AS search
                WHERE search.tenant_id = tenant
                    AND search.request_id = ANY (request_ids[first:last])
                    AND search.course IS NOT NULL
                FOR UPDATE SKIP LOCKED
            );
        ELSE
            locked := request_ids[first:last];
        END IF;
        first := last + 1;
        RETURN QUERY
        SELECT
            tenant, search.request_id, search.query, search.tokens_used, search.succeeded,
            search.completed_at, search.correct_until, search.known, search.outcome,
            search.revision, search.settled,
            (
                SELECT later.query
                FROM open_trajectories AS later
                WHERE later.tenant_id = tenant AND later.session_id = search.session_id
                    AND later.course IS NOT NULL
                    AND (later.asked_at, later.request_id COLLATE "C")
                        > (search.asked_at, search.request_id COLLATE "C")
                    AND later.asked_at <= search.deadline_at
                ORDER BY later.asked_at, later.request_id COLLATE "C"
                LIMIT 1
            ),
            EXISTS (
                SELECT FROM abandonments AS ended
                WHERE ended.tenant_id = tenant AND ended.session_id = search.session_id
                    AND ended.occurred_at BETWEEN search.asked_at AND search.deadline_at
                    AND ended.received_at <= search.correct_until
            )
        FROM open_trajectories AS search
        WHERE search.tenant_id = tenant AND search.request_id = ANY (locked)
            AND search.course IS NOT NULL;
    END LOOP;
END
$$;

-- Writes what is known of searches now, and returns the courses of those that are news.
CREATE FUNCTION record_verdicts(
    tenants text[], ends integer[], request_ids text[], knowns text[], outcomes text[],
    revisions integer[], settlements boolean[], news boolean[]
)
RETURNS TABLE (tenant_id text, request_id text, course text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        -- Without a join there is nothing that old statistics could make slow.
        RETURN QUERY
        UPDATE open_trajectories AS search
        SET (known, outcome, revision, settled) = (
            SELECT knowns[at], outcomes[at], revisions[at], settlements[at]
            FROM array_position(request_ids, search.request_id, first) AS at
        )
        WHERE search.tenant_id = tenant AND search.request_id = ANY (request_ids[first:last])
        RETURNING tenant, search.request_id, CASE
            WHEN news[array_position(request_ids, search.request_id, first)] THEN search.course
        END;
        first := last + 1;
    END LOOP;
END
$$;

-- Keeps signals that wait.
CREATE FUNCTION park_signals(
    tenants text[], ends integer[], request_ids text[], kinds text[], event_ids text[],
    signals text[], received timestamptz[], origins text[]
)
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        INSERT INTO parked_signals (
            tenant_id, request_id, kind, event_id, signal, received_at, origin
        )
        SELECT tenant, new.request_id, new.kind, new.event_id, new.signal, new.received_at,
            new.origin
        FROM unnest(
            request_ids[first:last], kinds[first:last], event_ids[first:last],
            signals[first:last], received[first:last], origins[first:last]
        ) AS new (request_id, kind, event_id, signal, received_at, origin)
        ON CONFLICT DO NOTHING;
        first := last + 1;
    END LOOP;
END
$$;

-- Writes what is to be published.
CREATE FUNCTION put_out(
    tenants text[], ends integer[], topics text[], keys bytea[], contents bytea[],
    all_headers text[], written timestamptz
)
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        INSERT INTO outbox (tenant_id, topic, key, value, headers, written_at)
        SELECT tenant, new.topic, new.key, new.value, new.headers, written
        FROM unnest(
            topics[first:last], keys[first:last], contents[first:last], all_headers[first:last]
        ) AS new (topic, key, value, headers);
        first := last + 1;
    END LOOP;
END
$$;

-- Counts uses of memories, and returns the memories that are there. A tenant's tally has how often
-- each was used, and when last, under its id.
CREATE FUNCTION count_uses(tenants text[], ends integer[], memory_ids text[], tallies text[])
RETURNS TABLE (tenant_id text, memory_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
    tally jsonb;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        tally := tallies[turn];
        RETURN QUERY
        UPDATE memories AS memory SET
            use_count = memory.use_count + (tally -> memory.memory_id ->> 0)::bigint,
            last_used_at = greatest(
                memory.last_used_at, (tally -> memory.memory_id ->> 1)::timestamptz
            )
        WHERE memory.tenant_id = tenant AND memory.memory_id = ANY (memory_ids[first:last])
        RETURNING tenant, memory.memory_id;
        first := last + 1;
    END LOOP;
END
$$;

-- Returns those of the memories that are there.
CREATE FUNCTION known_memories(tenants text[], ends integer[], memory_ids text[])
RETURNS TABLE (tenant_id text, memory_id text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant text;
    first integer := 1;
    last integer;
BEGIN
    FOR turn IN 1 .. cardinality(tenants) LOOP
        tenant := set_config('app.tenant_id', tenants[turn], true);
        last := ends[turn];
        RETURN QUERY
        SELECT tenant, memory.memory_id FROM memories AS memory
        WHERE memory.tenant_id = tenant AND memory.memory_id = ANY (memory_ids[first:last]);
        first := last + 1;
    END LOOP;
END
$$;

-- Compressing ten kilobytes with PostgreSQL's own method takes longer than all else that is done with
-- a search. Where the server has LZ4 that is used; elsewhere what is soon read again stays as it is.
DO $$
BEGIN
    ALTER TABLE open_trajectories ALTER COLUMN course SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    ALTER TABLE open_trajectories ALTER COLUMN course SET STORAGE EXTERNAL;
END
$$;
ALTER TABLE outbox ALTER COLUMN value SET STORAGE EXTERNAL;
