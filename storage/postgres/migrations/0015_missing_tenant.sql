-- A statement that forgot the tenant saw nothing, and nobody noticed. Now it fails, so that it is
-- counted like any other failure. The planner writes tenant() out as what it says, and compares it
-- with the statement's own tenant once, before any row is read.
CREATE FUNCTION no_tenant() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RAISE insufficient_privilege USING
        MESSAGE = 'app.tenant_id is not set',
        HINT = 'Begin the transaction with: SELECT set_config(''app.tenant_id'', ''<tenant>'', true)';
END
$$;

CREATE FUNCTION tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE RETURN
    CASE WHEN current_setting('app.tenant_id', true) <> ''
        THEN current_setting('app.tenant_id', true)
        ELSE no_tenant()
    END;

DO $$
DECLARE
    walled record;
BEGIN
    FOR walled IN
        SELECT tablename FROM pg_policies
        WHERE schemaname = 'memstream' AND policyname = 'tenant_wall'
    LOOP
        EXECUTE format(
            'ALTER POLICY tenant_wall ON %I '
            'USING (tenant_id = tenant()) WITH CHECK (tenant_id = tenant())',
            walled.tablename
        );
    END LOOP;
END
$$;
