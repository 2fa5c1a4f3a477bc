-- What was seen is known for a while, and then forgotten: by the later of when it was noted and when
-- it was written, as either may be wrong. Items are known for ever: one of long ago that is read for
-- the first time must be stored, so none can be refused for its age.
CREATE TABLE seen (
    tenant_id TEXT NOT NULL,
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    noted_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')),
    PRIMARY KEY (tenant_id, consumer, event_id)
) WITHOUT ROWID;
INSERT INTO seen (tenant_id, consumer, event_id, seen_at)
SELECT tenant_id, consumer, event_id, seen_at FROM inbox;
DROP TABLE inbox;
ALTER TABLE seen RENAME TO inbox;
CREATE INDEX inbox_over ON inbox (max(noted_at, seen_at)) WHERE consumer <> 'items';
