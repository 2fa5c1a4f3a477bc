-- How often a memory was used, and when last: columns of the whole and so of every partition, behind
-- the walls and under the grants that these have.
ALTER TABLE memories ADD COLUMN use_count bigint NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN last_used_at timestamptz;
