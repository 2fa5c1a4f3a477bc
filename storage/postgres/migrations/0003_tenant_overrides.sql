-- What tenants have their own way, by key; a key that is not there is the service's default.
CREATE TABLE tenant_overrides (
    tenant_id text PRIMARY KEY,
    overrides jsonb NOT NULL
);

ALTER TABLE tenant_overrides ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_overrides FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON tenant_overrides
    USING (tenant_id = current_setting('app.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('app.tenant_id', true));

GRANT SELECT, INSERT, UPDATE, DELETE ON tenant_overrides TO memstream_app;
