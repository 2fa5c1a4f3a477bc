-- What tenants have their own way, by key; a key that is not there is the service's default.
CREATE TABLE tenant_overrides (
    tenant_id TEXT PRIMARY KEY,
    overrides TEXT NOT NULL
) WITHOUT ROWID;
