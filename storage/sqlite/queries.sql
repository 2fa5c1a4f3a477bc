-- name: mark_seen
INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: next_change
UPDATE changes SET last = last + 1 RETURNING last

-- name: upsert_memory
INSERT INTO memories (
    tenant_id, memory_id, change, layer, scope, kind, content, importance, confidence, decay_rate,
    session_id, position, entities, source_path, metadata, created_at, last_confirmed_at,
    embedding_model, embedding, length, title, folded, flat, place
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET
    change = excluded.change, deleted = 0,
    layer = excluded.layer, scope = excluded.scope, kind = excluded.kind,
    content = excluded.content, importance = excluded.importance,
    confidence = excluded.confidence, decay_rate = excluded.decay_rate,
    session_id = excluded.session_id, position = excluded.position,
    entities = excluded.entities, source_path = excluded.source_path,
    metadata = excluded.metadata, created_at = excluded.created_at,
    last_confirmed_at = excluded.last_confirmed_at,
    embedding_model = excluded.embedding_model, embedding = excluded.embedding,
    length = excluded.length, title = excluded.title, folded = excluded.folded,
    flat = excluded.flat, place = excluded.place
RETURNING id

-- name: delete_memory
UPDATE memories SET
    change = ?, deleted = 1, content = '', session_id = NULL, entities = '{}', source_path = NULL,
    metadata = '{}', embedding_model = NULL, embedding = NULL, reference_count = 0,
    last_referenced_at = NULL, use_count = 0, last_used_at = NULL, exposure = 0, exposed_use = 0,
    questions = NULL, title = '', folded = '', flat = ''
WHERE tenant_id = ? AND memory_id = ?
RETURNING id

-- name: changed_since
SELECT
    id, memory_id, layer, scope, kind, confidence, decay_rate, created_at, last_confirmed_at,
    session_id, place, length, flat, change, deleted, embedding_model, embedding
FROM memories
WHERE tenant_id = ? AND change > ?
ORDER BY change

-- name: hit_columns
memories.id, memory_id, layer, scope, kind, content, source_path, created_at, metadata, importance,
    confidence, decay_rate, last_confirmed_at, last_referenced_at, title,
    exposure, exposed_use, questions

-- name: memories_by_row
-- A cross join is carried out as it is written: row by row, and not through all of the tenant's.
SELECT {hit_columns}
FROM json_each(?2) AS chosen CROSS JOIN memories
WHERE memories.id = chosen.value AND tenant_id = ?1 AND NOT deleted

-- name: memories_by_id
SELECT {hit_columns}, entities
FROM memories
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: mean_rate
SELECT exposed_use / exposure FROM policies WHERE tenant_id = ? AND exposure > 0

-- name: metadata
SELECT id, metadata FROM memories WHERE tenant_id = ? AND NOT deleted

-- name: entities
SELECT id, entities
FROM memories INDEXED BY memories_entities
WHERE tenant_id = ? AND entities <> '{}'

-- name: related
SELECT entities, id, layer, scope, kind, confidence, decay_rate, '', last_confirmed_at
FROM memories INDEXED BY memories_entities
WHERE tenant_id = ? AND entities <> '{}'

-- name: refer
UPDATE memories SET
    reference_count = reference_count + 1,
    last_referenced_at = max(coalesce(last_referenced_at, ''), ?)
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: use
UPDATE memories SET
    use_count = use_count + 1,
    last_used_at = max(coalesce(last_used_at, ''), ?)
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: counts
SELECT memory_id, reference_count, last_referenced_at, use_count, last_used_at
FROM memories
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: overrides
SELECT overrides FROM tenant_overrides WHERE tenant_id = ?

-- name: override
INSERT INTO tenant_overrides (tenant_id, overrides)
VALUES (?, ?)
ON CONFLICT (tenant_id) DO UPDATE SET overrides = excluded.overrides

-- name: number_tenant
INSERT INTO tenants (tenant_id) VALUES (?) ON CONFLICT DO NOTHING

-- name: tenant_number
SELECT number FROM tenants WHERE tenant_id = ?

-- name: full_text_tables
SELECT name FROM sqlite_master WHERE name IN ('words', 'parts', 'behind')

-- name: leave_behind
CREATE TABLE IF NOT EXISTS behind (mark INTEGER)

-- name: drop_behind
DROP TABLE IF EXISTS behind

-- name: drop_words
DROP TABLE IF EXISTS words

-- name: drop_parts
DROP TABLE IF EXISTS parts

-- name: make_words
CREATE VIRTUAL TABLE words USING fts5 (terms, detail = none, tokenize = 'unicode61')

-- name: make_parts
CREATE VIRTUAL TABLE parts USING fts5 (folded, tokenize = 'trigram')

-- name: every_memory
SELECT id, tenant_id, content FROM memories WHERE NOT deleted

-- name: remember_words
INSERT INTO words (rowid, terms) VALUES (?, ?)

-- name: remember_parts
INSERT INTO parts (rowid, folded) VALUES (?, ?)

-- name: forget_words
DELETE FROM words WHERE rowid = ?

-- name: forget_parts
DELETE FROM parts WHERE rowid = ?

-- name: with_words
SELECT rowid FROM words WHERE words MATCH ?

-- name: with_parts
SELECT memories.id, memories.folded
FROM parts JOIN memories ON memories.id = parts.rowid
WHERE parts MATCH ? AND memories.tenant_id = ? AND NOT deleted

-- name: with_any
SELECT id, folded
FROM memories
WHERE tenant_id = ? AND NOT deleted
    AND EXISTS (SELECT 1 FROM json_each(?) WHERE instr(folded, value) > 0)
