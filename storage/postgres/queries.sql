-- name: enter_tenant
SELECT set_config('app.tenant_id', $1, true)

-- name: mark_seen
INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
SELECT $1, $2, event_id, seen_at
FROM unnest($3::text[], $4::timestamptz[]) AS event (event_id, seen_at)
ON CONFLICT DO NOTHING
RETURNING event_id

-- name: upsert_memory
INSERT INTO memories (
    tenant_id, memory_id, layer, scope, kind, content, importance, confidence, decay_rate,
    session_id, position, entities, source_path, metadata, created_at, last_confirmed_at,
    embedding_model, embedding
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET
    layer = excluded.layer, scope = excluded.scope, kind = excluded.kind,
    content = excluded.content, importance = excluded.importance,
    confidence = excluded.confidence, decay_rate = excluded.decay_rate,
    session_id = excluded.session_id, position = excluded.position,
    entities = excluded.entities, source_path = excluded.source_path,
    metadata = excluded.metadata, created_at = excluded.created_at,
    last_confirmed_at = excluded.last_confirmed_at,
    embedding_model = excluded.embedding_model, embedding = excluded.embedding

-- name: delete_memories
DELETE FROM memories WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: nearest
SELECT
    memory_id, layer, scope, kind, content, created_at, metadata,
    round(least(greatest(1 - (embedding <=> $3), -1), 1)::numeric, 6)::double precision AS similarity
FROM memories
WHERE tenant_id = $1
    AND embedding_model = $2
    AND ($4::text[] IS NULL OR layer = ANY ($4))
    AND ($5::text IS NULL OR scope = $5 OR (scope = 'global' AND kind <> 'episode'))
ORDER BY similarity DESC, created_at DESC, memory_id COLLATE "C"
LIMIT $6
