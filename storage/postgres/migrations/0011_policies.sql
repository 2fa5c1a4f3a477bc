-- What was learned for each tenant, in the learner's own words, and what it is served by. Its row is
-- what the writers of a tenant take turns by.
CREATE TABLE policies (
    tenant_id text PRIMARY KEY,
    steps bigint NOT NULL DEFAULT 0,
    trained bigint NOT NULL DEFAULT 0,
    -- How many lessons were ever kept, and when the newest of their searches ended.
    places bigint NOT NULL DEFAULT 0,
    newest_at timestamptz,
    state text,
    version bigint NOT NULL DEFAULT 0,
    exploration double precision NOT NULL DEFAULT 0,
    weights text,
    served_at timestamptz,
    -- Which common policy the weights were blended with; 0 is none.
    blended_with bigint NOT NULL DEFAULT 0,
    -- What it gives to others and since which write, and what of that is in the common policy.
    contribution text,
    contributed bigint,
    pooled text,
    pooled_as bigint,
    writes bigint NOT NULL DEFAULT 0,
    -- How often its memories were looked at, and used then.
    exposure double precision NOT NULL DEFAULT 0,
    exposed_use double precision NOT NULL DEFAULT 0
);

-- Labelled searches: those with a place wait to be learned from, the others were and may be corrected.
CREATE TABLE lessons (
    tenant_id text NOT NULL,
    trajectory_id text NOT NULL,
    revision bigint NOT NULL,
    completed_at timestamptz NOT NULL,
    place bigint,
    lesson text,
    taught text,
    -- In which steps it was learned from: a rollback may have thrown one of them away.
    taught_in text,
    PRIMARY KEY (tenant_id, trajectory_id)
);
CREATE INDEX lessons_pending ON lessons (tenant_id, place) WHERE place IS NOT NULL;
CREATE INDEX lessons_taught ON lessons (tenant_id, completed_at) WHERE taught IS NOT NULL;
CREATE INDEX lessons_done ON lessons (tenant_id, completed_at) WHERE place IS NULL;

-- What became of a tenant's policy, when, after how many steps and lessons, by whom and why.
CREATE TABLE policy_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    at timestamptz NOT NULL,
    steps bigint NOT NULL,
    trained bigint NOT NULL,
    kind text NOT NULL,
    version bigint NOT NULL,
    told text NOT NULL,
    ordered text,
    actor text,
    why text
);
CREATE INDEX policy_events_of_tenant ON policy_events (tenant_id, id);

-- What was learned from all tenants together: weights and counts, nothing of any tenant.
CREATE TABLE common_policy (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    number bigint NOT NULL,
    pool text NOT NULL,
    weights text NOT NULL,
    made_at timestamptz NOT NULL
);

-- How often a memory was looked at, as far as its places tell, and how often it was used then.
ALTER TABLE memories ADD COLUMN exposure double precision NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN exposed_use double precision NOT NULL DEFAULT 0;

DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['policies', 'lessons', 'policy_events']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format(
            'CREATE POLICY tenant_wall ON %I '
            'USING (tenant_id = current_setting(''app.tenant_id'', true)) '
            'WITH CHECK (tenant_id = current_setting(''app.tenant_id'', true))',
            walled
        );
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO memstream_app', walled);
    END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE ON common_policy TO memstream_app;

-- Owners are bound by the wall too, but must see what all tenants give: the functions below run as
-- the owner, and are all that the service can do across tenants.
CREATE POLICY owner ON policies TO CURRENT_USER USING (true);
CREATE POLICY owner ON tenant_overrides FOR SELECT TO CURRENT_USER USING (true);

-- Whether a tenant neither gives to the common policy nor takes from it.
CREATE FUNCTION opted_out(tenant text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, memstream, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM tenant_overrides
        WHERE tenant_id = tenant AND overrides -> 'global_prior' = 'false'
    )
$$;

-- Whether the common policy lacks something that a tenant gives, or has what none gives any more.
CREATE FUNCTION contributions_changed() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM policies
        WHERE pooled_as IS DISTINCT FROM CASE WHEN opted_out(tenant_id) THEN NULL ELSE contributed END
    )
$$;

-- What all tenants give, in the order of their ids and without these.
CREATE FUNCTION gather_contributions() RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp
SET enable_sort = on AS $$
    UPDATE policies SET
        pooled = CASE WHEN opted_out(tenant_id) THEN NULL ELSE contribution END,
        pooled_as = CASE WHEN opted_out(tenant_id) THEN NULL ELSE contributed END
    WHERE pooled_as IS DISTINCT FROM CASE WHEN opted_out(tenant_id) THEN NULL ELSE contributed END;
    SELECT pooled FROM policies WHERE pooled IS NOT NULL ORDER BY tenant_id COLLATE "C"
$$;

-- The names of tenants whose weights were blended with another common policy than they are to be.
CREATE FUNCTION stale_policies(most integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, memstream, pg_temp AS $$
    SELECT tenant_id FROM policies
    WHERE weights IS NOT NULL AND blended_with <> CASE
        WHEN opted_out(tenant_id) THEN 0
        ELSE coalesce((SELECT number FROM common_policy), 0)
    END
    LIMIT most
$$;

REVOKE ALL ON FUNCTION opted_out, contributions_changed, gather_contributions, stale_policies
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION opted_out, contributions_changed, gather_contributions, stale_policies
    TO memstream_app;
