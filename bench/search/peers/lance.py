"""LanceDB: hybrid search in one embedded table, fused by its own reciprocal ranks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS, Bitmap
from lancedb.rerankers import RRFReranker

from bench.progress import Advance
from bench.search.ours import LIMIT
from bench.search.vectors import Precomputed
from models import Item
from retrieval.embedding.protocol import Vectors

NAME = "LanceDB"
CHUNK = 5_000


class Lance:
    """A table with an index of words and one of tenants; vectors are compared exactly."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._reranker = RRFReranker()

    @classmethod
    async def open(
        cls, folder: Path, items: Sequence[Item], vectors: Precomputed, advance: Advance
    ) -> "Lance":
        """Load the items."""
        database = await lancedb.connect_async(folder / "lance")
        vector = pa.list_(pa.float32(), vectors.dimensions)
        text = ("tenant_id", "memory_id", "session_id", "content")
        schema = pa.schema([*((name, pa.string()) for name in text), ("vector", vector)])
        table = await database.create_table("memories", schema=schema)
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            rows = await vectors.embed([item.content or "" for item in chunk])
            columns = [pa.array([getattr(item, name) for item in chunk]) for name in text]
            columns.append(pa.FixedSizeListArray.from_arrays(rows.ravel(), vectors.dimensions))
            await table.add(pa.table(columns, schema=schema))
            advance(f"loading {NAME}", start + len(chunk), len(items))
        await table.create_index("content", config=FTS())
        await table.create_index("tenant_id", config=Bitmap())
        await table.optimize()
        return cls(table)

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Return the ids of what is found."""
        tenant = tenant_id.replace("'", "''")
        rows = await (
            self._table.query()
            .nearest_to(vector)
            .distance_type("cosine")
            .nearest_to_text(query)
            .where(f"tenant_id = '{tenant}'")
            .select(["memory_id", "content"])
            .rerank(self._reranker)
            .limit(LIMIT)
            .to_list()
        )
        return [row["memory_id"] for row in rows]

    async def close(self) -> None:
        """Let go of the table."""
        self._table.close()
