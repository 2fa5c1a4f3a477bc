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
    embedding_model, embedding
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET
    change = excluded.change, deleted = 0,
    layer = excluded.layer, scope = excluded.scope, kind = excluded.kind,
    content = excluded.content, importance = excluded.importance,
    confidence = excluded.confidence, decay_rate = excluded.decay_rate,
    session_id = excluded.session_id, position = excluded.position,
    entities = excluded.entities, source_path = excluded.source_path,
    metadata = excluded.metadata, created_at = excluded.created_at,
    last_confirmed_at = excluded.last_confirmed_at,
    embedding_model = excluded.embedding_model, embedding = excluded.embedding

-- name: delete_memory
UPDATE memories SET
    change = ?, deleted = 1, content = '', session_id = NULL, entities = '{}', source_path = NULL,
    metadata = '{}', embedding_model = NULL, embedding = NULL, reference_count = 0,
    last_referenced_at = NULL
WHERE tenant_id = ? AND memory_id = ?

-- name: changed_since
SELECT
    id, memory_id, layer, scope, kind, confidence, decay_rate, created_at, last_confirmed_at,
    change, embedding_model, embedding
FROM memories
WHERE tenant_id = ? AND change > ?
ORDER BY change

-- name: memories_by_row
SELECT id, memory_id, layer, scope, kind, content, source_path, created_at, metadata
FROM memories
WHERE tenant_id = ? AND id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: memories_by_id
SELECT
    id, memory_id, layer, scope, kind, content, source_path, created_at, metadata,
    confidence, decay_rate, last_confirmed_at
FROM memories
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: metadata
SELECT id, metadata FROM memories WHERE tenant_id = ? AND NOT deleted

-- name: refer
UPDATE memories SET
    reference_count = reference_count + 1,
    last_referenced_at = max(coalesce(last_referenced_at, ''), ?)
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: references
SELECT memory_id, reference_count, last_referenced_at
FROM memories
WHERE tenant_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND NOT deleted

-- name: overrides
SELECT overrides FROM tenant_overrides WHERE tenant_id = ?

-- name: override
INSERT INTO tenant_overrides (tenant_id, overrides)
VALUES (?, ?)
ON CONFLICT (tenant_id) DO UPDATE SET overrides = excluded.overrides
