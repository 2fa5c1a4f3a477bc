"""LlamaIndex on PostgreSQL: its vector and text retrievers, fused by its own reciprocal ranks."""

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.postgres import PGVectorStore

from bench.progress import Advance
from bench.search.ours import LIMIT
from bench.search.vectors import Precomputed
from models import Item
from retrieval.embedding.protocol import Vectors

NAME = "LlamaIndex PGVectorStore"
CHUNK = 1_000
MODES = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.SPARSE)


class Llama:
    """One table with a tsvector and an index of tenants; vectors are compared exactly."""

    def __init__(self, store: PGVectorStore, index: VectorStoreIndex) -> None:
        self._store, self._index = store, index
        self._retrievers: dict[str, QueryFusionRetriever] = {}

    @classmethod
    async def open(
        cls, url: str, items: Sequence[Item], vectors: Precomputed, advance: Advance
    ) -> "Llama":
        """Load the items."""
        address = url.partition("://")[2]
        store = PGVectorStore(
            connection_string=f"postgresql+psycopg2://{address}",
            async_connection_string=f"postgresql+asyncpg://{address}",
            table_name="memories",
            schema_name="llama",
            hybrid_search=True,
            embed_dim=vectors.dimensions,
            use_jsonb=True,
            cache_ok=True,
            indexed_metadata_keys={("tenant", "text")},
            initialization_fail_on_error=True,
        )
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            rows = await vectors.embed([item.content or "" for item in chunk])
            await store.async_add([_node(*pair) for pair in zip(chunk, rows, strict=True)])
            advance(f"loading {NAME}", start + len(chunk), len(items))
        # Neither is ever called: vectors come with the queries, and only one query is asked.
        embed_model = MockEmbedding(vectors.dimensions)
        return cls(store, VectorStoreIndex.from_vector_store(store, embed_model=embed_model))

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Return the ids of what is found."""
        if tenant_id not in self._retrievers:
            self._retrievers[tenant_id] = self._retriever(tenant_id)
        asked = QueryBundle(query, embedding=vector.tolist())
        found = await self._retrievers[tenant_id].aretrieve(asked)
        return [node.node.metadata["memory_id"] for node in found]

    def _retriever(self, tenant_id: str) -> QueryFusionRetriever:
        filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value=_text(tenant_id))])
        options: dict[str, Any] = {"similarity_top_k": LIMIT, "sparse_top_k": LIMIT}
        return QueryFusionRetriever(
            [
                self._index.as_retriever(vector_store_query_mode=mode, filters=filters, **options)
                for mode in MODES
            ],
            llm=MockLLM(),
            mode=FUSION_MODES.RECIPROCAL_RANK,
            similarity_top_k=LIMIT,
            num_queries=1,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._store.close()


def _node(item: Item, vector: Vectors) -> TextNode:
    return TextNode(
        id_=f"{item.tenant_id}/{item.memory_id}",
        text=item.content or "",
        embedding=vector.tolist(),
        metadata={
            "tenant": _text(item.tenant_id),
            "memory_id": item.memory_id,
            "session_id": item.session_id,
        },
    )


def _text(tenant_id: str) -> str:
    # Filters are pasted into the SQL, numbers as numbers: only letters and digits are safe.
    return f"t{tenant_id.encode().hex()}"
