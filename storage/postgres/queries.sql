-- name: enter_tenant
SELECT set_config('app.tenant_id', $1, true)

-- name: begin_to_find
-- One message instead of two, as somebody waits for what is found. It can have no parameters then:
-- the tenant is given in hexadecimal digits, in which nothing can be hidden.
-- Statements that find are planned once: they name the tenant's partition and the order of joins.
BEGIN READ ONLY;
SELECT
    set_config('app.tenant_id', convert_from(decode(':tenant', 'hex'), 'UTF8'), true),
    set_config('plan_cache_mode', 'force_generic_plan', true)

-- name: partition
SELECT partition_of($1)

-- name: mark_seen
INSERT INTO inbox (tenant_id, consumer, event_id, seen_at)
SELECT $1, $2, event_id, seen_at
FROM unnest($3::text[], $4::timestamptz[]) AS event (event_id, seen_at)
ON CONFLICT DO NOTHING
RETURNING event_id

-- name: take_turn
INSERT INTO corpora AS corpus (tenant_id, memories, length) VALUES ($1, 0, 0)
ON CONFLICT (tenant_id) DO UPDATE SET memories = corpus.memories

-- name: forget_words
WITH old AS (
    SELECT number, length, search_vector FROM memories
    WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])
),
gone AS (
    DELETE FROM postings
    USING old
    WHERE postings.tenant_id = $1
        AND postings.term = ANY (tsvector_to_array(old.search_vector))
        AND postings.number = old.number
)
UPDATE corpora SET
    memories = memories - (SELECT count(*) FROM old),
    length = corpora.length - coalesce((SELECT sum(old.length) FROM old), 0)
WHERE tenant_id = $1

-- name: upsert_memory
INSERT INTO memories (
    tenant_id, memory_id, layer, scope, kind, content, importance, confidence, decay_rate,
    session_id, position, entities, source_path, metadata, created_at, last_confirmed_at,
    embedding_model, embedding, length, title, folded, place, search_vector
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
    $22, array_to_tsvector($23::text[])
)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET
    layer = excluded.layer, scope = excluded.scope, kind = excluded.kind,
    content = excluded.content, importance = excluded.importance,
    confidence = excluded.confidence, decay_rate = excluded.decay_rate,
    session_id = excluded.session_id, position = excluded.position,
    entities = excluded.entities, source_path = excluded.source_path,
    metadata = excluded.metadata, created_at = excluded.created_at,
    last_confirmed_at = excluded.last_confirmed_at,
    embedding_model = excluded.embedding_model, embedding = excluded.embedding,
    length = excluded.length, title = excluded.title, folded = excluded.folded,
    place = excluded.place, search_vector = excluded.search_vector

-- name: remember_words
WITH new AS (
    INSERT INTO postings (tenant_id, term, number, occurrences, length)
    SELECT $1, word.term, number, word.occurrences, memories.length
    FROM unnest($3::text[], $4::text[], $5::integer[]) AS word (memory_id, term, occurrences)
    JOIN memories ON memories.tenant_id = $1 AND memories.memory_id = word.memory_id
)
UPDATE corpora SET
    memories = memories + cardinality($2::text[]),
    length = corpora.length + (
        SELECT coalesce(sum(memories.length), 0) FROM memories
        WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])
    )
WHERE tenant_id = $1
RETURNING memories

-- name: delete_memories
DELETE FROM memories WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: remaining_confidence
-- PostgreSQL refuses what is too large or too small for a number: then nothing would be found.
(CASE WHEN decay_rate = 0 THEN confidence WHEN confidence < 1e-18 THEN 0 ELSE confidence * exp(-least(
        least(decay_rate, 1e300)
            * (greatest(extract(epoch FROM $2::timestamptz - last_confirmed_at), 0) / 86400),
        700
    )) END)

-- name: visible
tenant_id = $1
    AND ($3::text[] IS NULL OR layer = ANY ($3))
    AND ($4::text IS NULL OR scope = $4 OR (scope = 'global' AND kind <> 'episode'))
    AND {remaining_confidence} >= $5
    AND ($6::jsonb IS NULL OR metadata @> $6)
    AND ($7::jsonb IS NULL OR NOT EXISTS (
        SELECT FROM jsonb_each($7) AS asked (key, names)
        WHERE (names ? (entities ->> key)) IS NOT TRUE
    ))

-- name: similarity
round(least(greatest(1 - (embedding <=> $8), -1), 1) * 1e6) / 1e6

-- name: mean_rate
-- How often the tenant's memories are used when they are looked at.
(SELECT policies.exposed_use / policies.exposure FROM policies
            WHERE tenant_id = $1 AND policies.exposure > 0)

-- name: value
round((exposed_use + 3 * {mean_rate}) / (exposure + 3) * 1e6) / 1e6

-- name: exactly_nearest_first
score DESC, created_at DESC, memory_id COLLATE "C"

-- name: vectors_of_length
(CASE WHEN vector_dims(embedding) = :dimensions THEN embedding END)::vector(:dimensions)

-- name: nearly_nearest_first
{vectors_of_length} <=> $8::vector(:dimensions)

-- name: corpus
corpus AS MATERIALIZED (
    SELECT memories, greatest(length::double precision / greatest(memories, 1), 1e-9) AS mean_length,
        {mean_rate} AS mean_rate
    FROM corpora
    WHERE tenant_id = $1
)

-- name: occurrences_of_part
(length(folded) - length(replace(folded, part, ''))) / length(part) AS occurrences

-- name: rank_and_look_around
frequency AS MATERIALIZED (
    SELECT ordinal, count(*) AS memories,
        ln(1 + (corpus.memories - count(*) + 0.5) / (count(*) + 0.5)::double precision) AS weight
    FROM matched CROSS JOIN corpus
    GROUP BY ordinal, corpus.memories
),
weighed AS (
    SELECT number AS matching, round(sum(
        weight * occurrences * 2.2 / (occurrences + 1.2 * (0.25 + 0.75 * length / mean_length))
    ) * 1e9) AS bm25
    FROM matched JOIN frequency USING (ordinal) CROSS JOIN corpus
    GROUP BY number
    ORDER BY bm25 DESC
),
by_words AS (
    SELECT number, session_id, place, memory_id, bm25 AS score, created_at
    -- OFFSET 0 keeps what is inside from being joined in another way than row by row.
    FROM weighed CROSS JOIN LATERAL (
        SELECT number, session_id, place, memory_id, created_at
        FROM :partition
        WHERE number = weighed.matching AND {visible}
        OFFSET 0
    ) AS memory
    ORDER BY bm25 DESC, created_at DESC, memory_id COLLATE "C"
    LIMIT $11
),
by_meaning AS (
    SELECT number, session_id, place, memory_id, {similarity} AS score, created_at
    FROM :partition
    WHERE $13 AND $9::text IS NOT NULL
        AND {visible}
        AND embedding_model = $9
    ORDER BY :nearest_first
    LIMIT $11
),
best AS MATERIALIZED (
    SELECT number, session_id, place, memory_id, min(rank) AS rank
    FROM (
        SELECT *, row_number() OVER best_first AS rank
        FROM by_words
        WINDOW best_first AS (ORDER BY score DESC, created_at DESC, memory_id COLLATE "C")
        UNION ALL
        SELECT *, row_number() OVER best_first AS rank
        FROM by_meaning
        WINDOW best_first AS (ORDER BY score DESC, created_at DESC, memory_id COLLATE "C")
    ) AS both_sides
    GROUP BY number, session_id, place, memory_id
),
neighbours AS MATERIALIZED (
    SELECT best.number AS later, earlier.number AS earlier
    FROM best CROSS JOIN LATERAL (
        SELECT number
        FROM :partition
        WHERE {visible}
            AND session_id = best.session_id
            AND (place, memory_id COLLATE "C") < (best.place, best.memory_id COLLATE "C")
        ORDER BY place DESC, memory_id COLLATE "C" DESC
        LIMIT 1
    ) AS earlier
    WHERE best.rank <= $12
    UNION
    SELECT later.number AS later, best.number AS earlier
    FROM best CROSS JOIN LATERAL (
        SELECT number
        FROM :partition
        WHERE {visible}
            AND session_id = best.session_id
            AND (place, memory_id COLLATE "C") > (best.place, best.memory_id COLLATE "C")
        ORDER BY place, memory_id COLLATE "C"
        LIMIT 1
    ) AS later
    WHERE best.rank <= $12
),
pool AS MATERIALIZED (
    SELECT number FROM best
    UNION
    SELECT earlier FROM neighbours
    UNION
    SELECT later FROM neighbours
),
counted AS (
    SELECT number, array_agg(ordinal * 1048576 + occurrences) AS counts
    FROM matched JOIN pool USING (number)
    GROUP BY number
),
memory AS MATERIALIZED (
    SELECT memory.*
    FROM pool CROSS JOIN LATERAL (
        SELECT
            number, memory_id, layer, scope, kind, content, source_path, created_at, metadata,
            importance, {remaining_confidence} AS confidence, last_referenced_at,
            CASE WHEN embedding_model = $9 THEN {similarity} END AS similarity,
            length, title, session_id, CASE WHEN embedding_model = $9 THEN embedding END AS vector,
            {value} AS value, questions
        FROM :partition
        WHERE tenant_id = $1 AND number = pool.number
        OFFSET 0
    ) AS memory
)
SELECT
    memory.memory_id, memory.layer, memory.scope, memory.kind, memory.content, memory.source_path,
    memory.created_at, memory.metadata, memory.importance, memory.confidence,
    memory.last_referenced_at, memory.similarity, memory.length, memory.title, memory.session_id,
    earlier.memory_id AS previous,
    CASE WHEN memory.vector IS NOT NULL AND earlier.vector IS NOT NULL
        THEN round(least(greatest(1 - (memory.vector <=> earlier.vector), -1), 1) * 1e6) / 1e6
    END AS likeness,
    memory.value, memory.questions, counts, corpus.memories, mean_length, mean_rate, frequencies
FROM memory
LEFT JOIN neighbours ON neighbours.later = memory.number
LEFT JOIN memory AS earlier ON earlier.number = neighbours.earlier
LEFT JOIN counted ON counted.number = memory.number
-- The tenant's counts go with one of the rows; with each they would take as long as the rest.
LEFT JOIN corpus ON memory.number = (SELECT min(number) FROM pool)
LEFT JOIN (
    SELECT array_agg(ordinal * 4294967296 + memories) AS frequencies FROM frequency
) AS found ON corpus.memories IS NOT NULL

-- name: find_terms
-- By which memories have which of the terms asked for, and how often.
WITH {corpus},
matched AS MATERIALIZED (
    SELECT number, array_position($10::text[], term) AS ordinal, occurrences, length
    FROM postings
    WHERE tenant_id = $1 AND term = ANY ($10::text[])
),
{rank_and_look_around}

-- name: find_parts
-- The same where words are not written apart: by which memories have all parts.
WITH {corpus},
matched AS MATERIALIZED (
    SELECT number, ordinal::integer, {occurrences_of_part}, length
    FROM :partition CROSS JOIN unnest($10::text[]) WITH ORDINALITY AS asked (part, ordinal)
    WHERE tenant_id = $1
        AND NOT EXISTS (SELECT FROM unnest($10::text[]) AS part WHERE strpos(folded, part) = 0)
),
{rank_and_look_around}

-- name: find_scraps
-- The same where nothing else was found: by which memories have any of the parts.
WITH {corpus},
matched AS MATERIALIZED (
    SELECT number, ordinal::integer, {occurrences_of_part}, length
    FROM :partition CROSS JOIN unnest($10::text[]) WITH ORDINALITY AS asked (part, ordinal)
    WHERE tenant_id = $1 AND strpos(folded, part) > 0
),
{rank_and_look_around}

-- name: get
SELECT
    memory_id, layer, scope, kind, content, source_path, created_at, metadata, importance,
    {remaining_confidence} AS confidence, last_referenced_at,
    CASE WHEN embedding_model = $9 THEN {similarity} END AS similarity, {value} AS value,
    questions
FROM memories
WHERE {visible}
    AND memory_id = ANY ($10::text[])
ORDER BY array_position($10::text[], memory_id)

-- name: related
-- Only memories with a member in their entities are in the index that has the same condition.
SELECT parent, child, count(*) AS memories
FROM (
    SELECT entities ->> $8::text AS parent, entities ->> $9::text AS child
    FROM memories
    WHERE {visible}
        AND entities @? '$.*'
        AND entities ?& ARRAY[$8, $9]
) AS pair
GROUP BY parent, child
ORDER BY memories DESC, parent COLLATE "C", child COLLATE "C"
LIMIT $10

-- name: refer
UPDATE memories SET
    reference_count = reference_count + 1,
    last_referenced_at = greatest(last_referenced_at, $3)
WHERE tenant_id = $1 AND memory_id = ANY ($2::text[])

-- name: counts
SELECT memory_id, reference_count, last_referenced_at, use_count, last_used_at
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

-- name: index_vectors
SELECT index_vectors($1, $2)
