-- Memories and the inbox, walled by tenant: the role the service runs as neither owns these
-- tables nor may bypass their policies, and sees nothing while app.tenant_id is not set.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'memstream_app') THEN
        CREATE ROLE memstream_app NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
    IF NOT pg_has_role(current_user, 'memstream_app', 'MEMBER') THEN
        EXECUTE format('GRANT memstream_app TO %I', current_user);
    END IF;
END
$$;

CREATE TABLE memories (
    tenant_id text NOT NULL,
    memory_id text NOT NULL,
    layer text NOT NULL,
    scope text NOT NULL,
    kind text NOT NULL,
    content text NOT NULL,
    importance double precision NOT NULL,
    confidence double precision NOT NULL,
    decay_rate double precision NOT NULL,
    session_id text,
    position bigint,
    entities jsonb NOT NULL,
    source_path text,
    metadata jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    last_confirmed_at timestamptz NOT NULL,
    embedding_model text,
    embedding vector,
    PRIMARY KEY (tenant_id, memory_id)
) PARTITION BY HASH (tenant_id);

-- 16 partitions: measured to keep recall and latency of small tenants independent of large ones.
DO $$
BEGIN
    FOR remainder IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE memories_%s PARTITION OF memories FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
            remainder, remainder
        );
    END LOOP;
END
$$;

-- Which events each consumer has already applied: delivery is at least once, effects are once.
CREATE TABLE inbox (
    tenant_id text NOT NULL,
    consumer text NOT NULL,
    event_id text NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, consumer, event_id)
);

ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON memories
    USING (tenant_id = current_setting('app.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('app.tenant_id', true));

ALTER TABLE inbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE inbox FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON inbox
    USING (tenant_id = current_setting('app.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('app.tenant_id', true));

GRANT USAGE ON SCHEMA memstream TO memstream_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memories, inbox TO memstream_app;
