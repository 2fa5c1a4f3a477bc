-- Searches whose outcome is open or can still be corrected. A row without a course is not a search
-- yet: a signal about it came first, and waits.
CREATE TABLE open_trajectories (
    tenant_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    noted_at TEXT NOT NULL,
    session_id TEXT,
    query TEXT,
    tokens_used INTEGER,
    succeeded INTEGER,
    started_at TEXT,
    completed_at TEXT,
    deadline_at TEXT,
    correct_until TEXT,
    forget_at TEXT,
    course TEXT,
    known TEXT NOT NULL DEFAULT '{}',
    outcome TEXT,
    revision INTEGER NOT NULL DEFAULT -1,
    settled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX open_trajectories_sessions
    ON open_trajectories (tenant_id, session_id, started_at, request_id)
    WHERE course IS NOT NULL;
CREATE INDEX open_trajectories_due ON open_trajectories (deadline_at)
    WHERE NOT settled AND course IS NOT NULL;
CREATE INDEX open_trajectories_waiting ON open_trajectories (noted_at) WHERE course IS NULL;
CREATE INDEX open_trajectories_over ON open_trajectories (forget_at) WHERE settled;

-- Signals that came before their search, as they came.
CREATE TABLE parked_signals (
    tenant_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    event_id TEXT NOT NULL,
    signal TEXT NOT NULL,
    received_at TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (tenant_id, request_id, kind, event_id)
) WITHOUT ROWID;

-- Sessions abandoned as a whole: known for as long as a search may turn up that was open then.
CREATE TABLE abandonments (
    tenant_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    received_at TEXT NOT NULL,
    forget_at TEXT NOT NULL,
    signal TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (tenant_id, session_id, event_id)
) WITHOUT ROWID;
CREATE INDEX abandonments_due ON abandonments (forget_at);

-- What is to be published, written with what it tells of.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    key BLOB,
    value BLOB,
    headers TEXT NOT NULL,
    written_at TEXT NOT NULL
);
