-- What was learned for each tenant, in the learner's own words, and what it is served by.
CREATE TABLE policies (
    tenant_id TEXT PRIMARY KEY,
    steps INTEGER NOT NULL DEFAULT 0,
    trained INTEGER NOT NULL DEFAULT 0,
    -- How many lessons were ever kept, and when the newest of their searches ended.
    places INTEGER NOT NULL DEFAULT 0,
    newest_at TEXT,
    state TEXT,
    version INTEGER NOT NULL DEFAULT 0,
    exploration REAL NOT NULL DEFAULT 0,
    weights TEXT,
    served_at TEXT,
    -- Which common policy the weights were blended with; 0 is none.
    blended_with INTEGER NOT NULL DEFAULT 0,
    -- What it gives to others and since which write, and what of that is in the common policy.
    contribution TEXT,
    contributed INTEGER,
    pooled TEXT,
    pooled_as INTEGER,
    writes INTEGER NOT NULL DEFAULT 0,
    -- How often its memories were looked at, and used then.
    exposure REAL NOT NULL DEFAULT 0,
    exposed_use REAL NOT NULL DEFAULT 0
);

-- Labelled searches: those with a place wait to be learned from, the others were and may be corrected.
CREATE TABLE lessons (
    tenant_id TEXT NOT NULL,
    trajectory_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    completed_at TEXT NOT NULL,
    place INTEGER,
    lesson TEXT,
    taught TEXT,
    -- In which steps it was learned from: a rollback may have thrown one of them away.
    taught_in TEXT,
    PRIMARY KEY (tenant_id, trajectory_id)
);
CREATE INDEX lessons_pending ON lessons (tenant_id, place) WHERE place IS NOT NULL;
CREATE INDEX lessons_taught ON lessons (tenant_id, completed_at) WHERE taught IS NOT NULL;
CREATE INDEX lessons_done ON lessons (tenant_id, completed_at) WHERE place IS NULL;

-- What became of a tenant's policy, when, after how many steps and lessons, by whom and why.
CREATE TABLE policy_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    at TEXT NOT NULL,
    steps INTEGER NOT NULL,
    trained INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    told TEXT NOT NULL,
    ordered TEXT,
    actor TEXT,
    why TEXT
);
CREATE INDEX policy_events_of_tenant ON policy_events (tenant_id, id);

-- What was learned from all tenants together: weights and counts, nothing of any tenant.
CREATE TABLE common_policy (
    one INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    number INTEGER NOT NULL,
    pool TEXT NOT NULL,
    weights TEXT NOT NULL,
    made_at TEXT NOT NULL
);

-- How often a memory was looked at, as far as its places tell, and how often it was used then.
ALTER TABLE memories ADD COLUMN exposure REAL NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN exposed_use REAL NOT NULL DEFAULT 0;

-- The tenants who neither give to the common policy nor take from it.
CREATE VIEW opted_out AS
SELECT tenant_id FROM tenant_overrides WHERE json_extract(overrides, '$.global_prior') = 0;
