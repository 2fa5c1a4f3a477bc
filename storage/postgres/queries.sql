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

-- name: visible
tenant_id = $1
    AND ($3::text[] IS NULL OR layer = ANY ($3))
    AND ($4::text IS NULL OR scope = $4 OR (scope = 'global' AND kind <> 'episode'))
    AND confidence * exp(-least(
        decay_rate * greatest(extract(epoch FROM $2::timestamptz - last_confirmed_at), 0) / 86400, 700
    )) >= $5
    AND ($6::jsonb IS NULL OR metadata @> $6)

-- name: nearest
SELECT
    memory_id, layer, scope, kind, content, source_path, created_at, metadata,
    round(least(greatest(1 - (embedding <=> $7), -1), 1)::numeric, 6)::double precision AS similarity
FROM memories
WHERE {visible}
    AND embedding_model = $8
ORDER BY similarity DESC, created_at DESC, memory_id COLLATE "C"
LIMIT $9

-- name: get
SELECT
    memory_id, layer, scope, kind, content, source_path, created_at, metadata,
    NULL::double precision AS similarity
FROM memories
WHERE {visible}
    AND memory_id = ANY ($7::text[])
ORDER BY array_position($7::text[], memory_id)

-- name: refer
UPDATE memories SET
    reference_count = reference_count + 1,
    last_referenced_at = greatest(last_referenced_at, $3)
WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: references
SELECT memory_id, reference_count, last_referenced_at
FROM memories
WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: overrides
SELECT overrides FROM tenant_overrides WHERE tenant_id = $1

-- name: override
INSERT INTO tenant_overrides (tenant_id, overrides)
VALUES ($1, $2)
ON CONFLICT (tenant_id) DO UPDATE SET
    overrides = (tenant_overrides.overrides || excluded.overrides) - $3::text[]
RETURNING overrides
