-- How often a memory was returned, and when last.
ALTER TABLE memories ADD COLUMN reference_count bigint NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN last_referenced_at timestamptz;
