-- Memories and the inbox. `change` numbers every write, so that each process can bring its
-- in-memory matrices up to date with the rows changed since it last looked. A deleted memory
-- leaves an empty row behind for the same reason; nothing of its content stays.
CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    change INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    layer TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    decay_rate REAL NOT NULL,
    session_id TEXT,
    position INTEGER,
    entities TEXT NOT NULL,
    source_path TEXT,
    metadata TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_confirmed_at TEXT NOT NULL,
    embedding_model TEXT,
    embedding BLOB,
    UNIQUE (tenant_id, memory_id)
);
CREATE INDEX memories_change ON memories (tenant_id, change);

CREATE TABLE changes (last INTEGER NOT NULL);
INSERT INTO changes (last) VALUES (0);

CREATE TABLE inbox (
    tenant_id TEXT NOT NULL,
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, consumer, event_id)
) WITHOUT ROWID;
