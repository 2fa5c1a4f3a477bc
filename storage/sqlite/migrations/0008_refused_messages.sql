-- When the broker refused a message as too large: it waits here until it is tried again.
ALTER TABLE outbox ADD COLUMN refused_at TEXT;
CREATE INDEX outbox_next ON outbox (id) WHERE refused_at IS NULL;
CREATE INDEX outbox_refused ON outbox (refused_at) WHERE refused_at IS NOT NULL;
