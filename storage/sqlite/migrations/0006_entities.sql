-- Which of a tenant's memories are about entities: most are about none, and deleted ones never. It
-- has all that filters of these and pairs of them need: memories themselves lie far apart.
CREATE INDEX memories_entities ON memories (
    tenant_id, entities, layer, scope, kind, confidence, decay_rate, last_confirmed_at
) WHERE entities <> '{}';
