-- Which of a tenant's memories are about entities: most are about none. Equality of tenants is
-- leakproof, so row-level security lets it use an index, as it would not let an operator of jsonb.
-- Nor does it let the planner see statistics of such operators: it takes nearly all memories to be
-- <> '{}', for whom no index is worth while, but one in a hundred to have a member.
CREATE INDEX memories_entities ON memories (tenant_id) WHERE entities @? '$.*';
