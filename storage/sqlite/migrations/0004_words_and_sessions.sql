-- What keyword search and ranking need of a memory: how many words it has, what stands before its
-- first colon, its text without differences of case, its stems between bars, and its place in its
-- session.
ALTER TABLE memories ADD COLUMN length INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN folded TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN flat TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- A short name for a tenant, which every word of its memories carries in the full-text index: that
-- has one vocabulary for all tenants, and so none is found by another's.
CREATE TABLE tenants (
    number INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL UNIQUE
);
