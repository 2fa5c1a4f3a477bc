"""The SQL that a hybrid search cannot do without, and nothing around it.

Everything that is measured as "bare" is in this module. VECTOR is the store's own statement. TEXT
is what one would write over a tsvector column with a GIN index, in a table as walled and as
partitioned as the memories are; both run as the service's role. TEXT is timed a second time as the
table's owner, whom the wall does not bind and whose search may therefore use the index.
"""

import json
from collections.abc import Sequence
from typing import Any

import asyncpg
from pgvector.asyncpg import register_vector

from memstream.clock import now
from models import Item
from retrieval.embedding.protocol import Vectors
from storage.protocol import FADED_CONFIDENCE
from storage.statements import statements

CANDIDATES = 100
CHUNK = 5_000

_STORE = statements("storage.postgres")
ENTER = _STORE["enter_tenant"]
VECTOR = _STORE["nearest"]
TEXT = """
WITH asked AS (
    SELECT replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery AS query
)
SELECT memory_id, ts_rank(words, query) AS rank
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
SELECT tenant_id, memory_id, to_tsvector('english', content)
FROM unnest($1::text[], $2::text[], $3::text[]) AS item (tenant_id, memory_id, content)
"""


def vector_arguments(tenant_id: str, vector: Vectors, model: str) -> tuple[Any, ...]:
    """Return what VECTOR takes for a search without filters."""
    return (tenant_id, now(), None, None, FADED_CONFIDENCE, None, vector, model, CANDIDATES)


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

    def __init__(self, model: str, service: Any, text: Any) -> None:
        self._model, self._service, self._text = model, service, text

    @classmethod
    async def open(cls, owner_url: str, model: str, *, wall: bool) -> "BareSql":
        """Connect as the service does; without the wall, TEXT goes to the owner's connection."""
        settings = {"role": "memstream_app", "search_path": "memstream,public"}
        service = await asyncpg.connect(owner_url, server_settings=settings)
        await register_vector(service, schema="public")
        await service.set_type_codec(
            "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
        )
        return cls(model, service, service if wall else await asyncpg.connect(owner_url))

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Run both; there is no fusion, so what they find is not a ranking."""
        async with self._service.transaction():
            await self._service.execute(ENTER, tenant_id)
            await self._service.fetch(VECTOR, *vector_arguments(tenant_id, vector, self._model))
            await self._text.fetch(TEXT, tenant_id, query, CANDIDATES)
        return []

    async def close(self) -> None:
        """Close the connections."""
        for connection in {self._service, self._text}:
            await connection.close()
