"""The SQL that a hybrid search cannot do without, and nothing around it.

Everything that is measured as "bare" is in this module: the best hundred by vector and the best
hundred by text, each as one would write it. VECTOR is over the memories themselves: exact where
the service is exact, through its index where the service uses that. TEXT is over a tsvector column
with a GIN index, in a table as walled and as partitioned as the memories are. Both run as the
service's role. TEXT is timed a second time as the table's owner, whom the wall does not bind and
whose search may therefore use the index.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
from pgvector.asyncpg import register_vector

from models import Item
from retrieval.embedding.protocol import Vectors
from storage.postgres.connect import SERVICE_SETTINGS
from storage.postgres.store import EXACT_UP_TO
from storage.statements import statements

CANDIDATES = 100
CHUNK = 5_000

_STORE = statements("storage.postgres")
ENTER = _STORE["enter_tenant"]
INDEXED = _STORE["vectors_of_length"]
VECTOR = """
SELECT memory_id, content, 1 - (embedding <=> $2) AS similarity
FROM memories
WHERE tenant_id = $1 AND embedding_model = $3
ORDER BY {vector} <=> $2
LIMIT $4
"""
TEXT = """
WITH asked AS (
    SELECT replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery AS query
)
SELECT memory_id, content, ts_rank(words, query) AS rank
FROM bench.texts, asked
WHERE tenant_id = $1 AND words @@ query
ORDER BY rank DESC
LIMIT $3
"""
TABLES = """
CREATE SCHEMA bench;
CREATE TABLE bench.texts (
    tenant_id text NOT NULL,
    memory_id text NOT NULL,
    content text NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (tenant_id, memory_id)
) PARTITION BY HASH (tenant_id);
DO $$ BEGIN
    FOR remainder IN 0..15 LOOP
        EXECUTE format('CREATE TABLE bench.texts_%s PARTITION OF bench.texts '
            'FOR VALUES WITH (MODULUS 16, REMAINDER %s)', remainder, remainder);
    END LOOP;
END $$;
CREATE INDEX ON bench.texts USING gin (words);
ALTER TABLE bench.texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON bench.texts
    USING (tenant_id = current_setting('app.tenant_id', true));
GRANT USAGE ON SCHEMA bench TO memstream_app;
GRANT SELECT ON bench.texts TO memstream_app;
"""
FILL = """
INSERT INTO bench.texts
SELECT tenant_id, memory_id, content, to_tsvector('english', content)
FROM unnest($1::text[], $2::text[], $3::text[]) AS item (tenant_id, memory_id, content)
"""


def vector_statement(memories: int, dimensions: int) -> str:
    """Return VECTOR as it is best for a tenant of that size."""
    indexed = INDEXED.replace(":dimensions", str(dimensions))
    return VECTOR.format(vector=indexed if memories > EXACT_UP_TO else "embedding")


async def fill(owner_url: str, items: Sequence[Item]) -> None:
    """Make the table beside the memories and bring all statistics up to date."""
    connection = await asyncpg.connect(owner_url)
    await connection.execute(TABLES)
    for start in range(0, len(items), CHUNK):
        chunk = items[start : start + CHUNK]
        columns = zip(*((i.tenant_id, i.memory_id, i.content) for i in chunk), strict=True)
        await connection.execute(FILL, *(list(column) for column in columns))
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


class BareSql:
    """The two statements one after the other on a connection of their own."""

    def __init__(self, model: str, sizes: Mapping[str, int], service: Any, text: Any) -> None:
        self._model, self._sizes, self._service, self._text = model, sizes, service, text

    @classmethod
    async def open(
        cls, owner_url: str, model: str, sizes: Mapping[str, int], *, wall: bool
    ) -> "BareSql":
        """Connect as the service does; without the wall, TEXT goes to the owner's connection."""
        service = await asyncpg.connect(owner_url, server_settings=SERVICE_SETTINGS)
        await register_vector(service, schema="public")
        await service.set_type_codec(
            "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
        )
        text = service if wall else await asyncpg.connect(owner_url)
        return cls(model, sizes, service, text)

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Run both; there is no fusion, so what they find is not a ranking."""
        async with self._service.transaction():
            await self._service.execute(ENTER, tenant_id)
            by_vector = vector_statement(self._sizes[tenant_id], vector.shape[0])
            await self._service.fetch(by_vector, tenant_id, vector, self._model, CANDIDATES)
            await self._text.fetch(TEXT, tenant_id, query, CANDIDATES)
        return []

    async def close(self) -> None:
        """Close the connections."""
        for connection in {self._service, self._text}:
            await connection.close()
