-- What keyword search and ranking need, beside the memories and behind the same wall.

-- A short name for a memory: every word of it has a row below.
CREATE SEQUENCE memory_numbers;
ALTER TABLE memories ADD COLUMN number bigint NOT NULL DEFAULT nextval('memory_numbers');
-- Its stems, made by the service so that every store has the same; they say which postings are its.
ALTER TABLE memories ADD COLUMN search_vector tsvector;
-- How many words it has, what stands before its first colon, and its text without differences of
-- case, for what is not found by words.
ALTER TABLE memories ADD COLUMN length integer NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN title text NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN folded text NOT NULL DEFAULT '';
-- Its place in its session: its position, or the time it was written if it has none.
ALTER TABLE memories ADD COLUMN place bigint NOT NULL DEFAULT 0;

CREATE UNIQUE INDEX memories_number ON memories (tenant_id, number);
-- Without the memory's id: with three ids of 256 characters an entry would be too long for an index.
CREATE INDEX memories_session ON memories (tenant_id, session_id, place)
    WHERE session_id IS NOT NULL;

-- Which memories have a term, and how often. Under row-level security PostgreSQL does not use a GIN
-- index for @@, which is not leakproof; equality of text is, so this B-tree is used as it should be.
CREATE TABLE postings (
    tenant_id text NOT NULL,
    term text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    occurrences integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (tenant_id, term, number) INCLUDE (occurrences, length)
);

-- How many memories a tenant has, and how many words in all. Its row is also what the writers of a
-- tenant take turns by.
CREATE TABLE corpora (
    tenant_id text PRIMARY KEY,
    memories bigint NOT NULL,
    length bigint NOT NULL
);

ALTER TABLE postings ENABLE ROW LEVEL SECURITY;
ALTER TABLE postings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON postings
    USING (tenant_id = current_setting('app.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('app.tenant_id', true));

ALTER TABLE corpora ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpora FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON corpora
    USING (tenant_id = current_setting('app.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('app.tenant_id', true));

GRANT SELECT, INSERT, UPDATE, DELETE ON postings, corpora TO memstream_app;
GRANT USAGE ON SEQUENCE memory_numbers TO memstream_app;

-- A search reads its tenant's partition by name, which spares it being planned anew each time; the
-- wall around each partition is the one around the whole.
DO $$
BEGIN
    FOR remainder IN 0..15 LOOP
        EXECUTE format('ALTER TABLE memories_%s ENABLE ROW LEVEL SECURITY', remainder);
        EXECUTE format('ALTER TABLE memories_%s FORCE ROW LEVEL SECURITY', remainder);
        EXECUTE format(
            'CREATE POLICY tenant_wall ON memories_%s '
            'USING (tenant_id = current_setting(''app.tenant_id'', true)) '
            'WITH CHECK (tenant_id = current_setting(''app.tenant_id'', true))',
            remainder
        );
        EXECUTE format('GRANT SELECT ON memories_%s TO memstream_app', remainder);
    END LOOP;
END
$$;

-- The number of the partition that a tenant's memories are in: what the partitions' constraints say.
CREATE FUNCTION partition_of(tenant text) RETURNS integer
LANGUAGE sql STABLE SET search_path = pg_catalog, memstream, pg_temp AS $$
    SELECT remainder
    FROM generate_series(0, 15) AS remainder
    WHERE satisfies_hash_partition('memstream.memories'::regclass, 16, remainder, tenant)
$$;

-- Builds the index for approximate search over vectors of one length in the partition that a tenant
-- is in, if it is not there yet. Only owners may create an index, so it runs as the owner.
CREATE FUNCTION index_vectors(tenant text, dimensions integer) RETURNS void
-- pg_temp comes first unless it is named, and a caller's temporary tables with it.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, memstream, public, pg_temp AS $$
BEGIN
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON memories_%2$s USING hnsw '
        '(((CASE WHEN vector_dims(embedding) = %3$s THEN embedding END)::vector(%3$s)) vector_cosine_ops)',
        format('memories_vectors_%s_%s', partition_of(tenant), dimensions),
        partition_of(tenant),
        dimensions
    );
END
$$;
REVOKE ALL ON FUNCTION index_vectors(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION index_vectors(text, integer) TO memstream_app;
