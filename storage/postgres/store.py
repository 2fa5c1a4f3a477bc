"""The PostgreSQL store: the tenant is in every statement and in every transaction's setting."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from itertools import groupby, starmap
from typing import Any

from asyncpg import InterfaceError
from pydantic import JsonValue

from models import TenantOverrides
from storage.counts import Counts, Use
from storage.overrides import read_overrides, split_changes
from storage.postgres.connect import PASSING, open_pool, unreachable
from storage.postgres.find import filter_parameters, find
from storage.postgres.joins import PostgresJoins
from storage.postgres.policies import PostgresPolicies
from storage.postgres.turns import Name, in_turns, names
from storage.postgres.write import apply_to_tenant, count_uses, unseen
from storage.protocol import MAX_RELATED, Change, Embedding, Filter, Found, Hit, Related, Sought
from storage.statements import statements

_SQL = statements("storage.postgres")

EXACT_UP_TO = 5_000
"""Tenants with more memories are searched through an index; see docs/decisions.md for the times."""

INDEX_TIMEOUT_S = 3_600.0

MAX_TENANTS = 100_000
"""Of so many tenants it is remembered in which partition they are: some ten megabytes."""


class PostgresStore:
    """Memories in PostgreSQL, read and written as a role that row-level security binds."""

    def __init__(self, pool: Any, exact_up_to: int) -> None:
        self._pool = pool
        self._exact_up_to = exact_up_to
        self._indexed: set[tuple[str, int]] = set()
        self._large: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self.joins = PostgresJoins(self._transaction)
        self.policies = PostgresPolicies(self._transaction)

    @classmethod
    async def open(
        cls, url: str, *, connections: int = 8, exact_up_to: int = EXACT_UP_TO
    ) -> "PostgresStore":
        """Connect; the database must have been migrated."""
        return cls(await open_pool(url, connections), exact_up_to)

    async def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes in order, in one transaction, each event once."""
        by_tenant = sorted(changes, key=lambda change: change.item.tenant_id)
        sizes: dict[str, int] = {}
        async with self._transaction() as connection:
            for tenant_id, group in groupby(by_tenant, lambda change: change.item.tenant_id):
                await connection.execute(_SQL["enter_tenant"], tenant_id)
                sizes[tenant_id] = await apply_to_tenant(connection, tenant_id, list(group))
        await self._index_large(changes, sizes)

    async def find(self, tenant_id: str, sought: Sought, among: Filter) -> Found:
        """Return those of the tenant's memories that may answer the query."""
        async with self._finding(tenant_id) as connection:
            found = await find(
                *(connection, tenant_id, sought, among),
                partition=await self._partition(connection, tenant_id),
                exactly=tenant_id not in self._large,
            )
        self._note_size(tenant_id, found.memories)
        return found

    async def get(
        self,
        tenant_id: str,
        memory_ids: Sequence[str],
        among: Filter,
        *,
        embedding: Embedding | None = None,
    ) -> list[Hit]:
        """Return those of the tenant's memories that there are, in the order asked for."""
        vector, model = (embedding.vector, embedding.model) if embedding else (None, None)
        parameters = (*filter_parameters(tenant_id, among), vector, model, list(memory_ids))
        async with self._tenant(tenant_id) as connection:
            rows = await connection.fetch(_SQL["get"], *parameters)
        return [
            Hit(*fields)._replace(value=value, questions=questions or ())
            for *fields, value, questions in rows
        ]

    async def related(
        self, tenant_id: str, parent: str, child: str, among: Filter
    ) -> list[Related]:
        """Return which entities under one key occur with which under another."""
        parameters = (*filter_parameters(tenant_id, among), parent, child, MAX_RELATED)
        async with self._tenant(tenant_id) as connection:
            return list(starmap(Related, await connection.fetch(_SQL["related"], *parameters)))

    async def refer(
        self, tenant_id: str, request_id: str, memory_ids: Sequence[str], at: datetime
    ) -> None:
        """Count that a request returned these memories; the same request counts once."""
        async with self._tenant(tenant_id) as connection:
            if await unseen(connection, tenant_id, "references", {request_id: at}):
                # In one order, so that concurrent requests cannot deadlock.
                await connection.execute(_SQL["refer"], tenant_id, sorted(memory_ids), at)

    async def use(self, uses: Sequence[Use]) -> int:
        """Count uses in one transaction, each event once; return how many ids are not there."""
        async with self._transaction() as connection:
            return await count_uses(connection, uses)

    async def unknown(self, named: Sequence[Name]) -> int:
        """Return how many of the memories named their tenants do not have."""
        async with self._transaction() as connection:
            rows = await in_turns(connection, "known_memories", sorted(set(named)))
        known = set(names(rows))
        return sum(name not in known for name in named)

    async def counts(self, tenant_id: str, memory_ids: Sequence[str]) -> dict[str, Counts]:
        """Return how often those of the memories that the tenant has were returned and used."""
        async with self._tenant(tenant_id) as connection:
            rows = await connection.fetch(_SQL["counts"], tenant_id, list(memory_ids))
        return {memory_id: Counts(*counts) for memory_id, *counts in rows}

    async def overrides(self, tenant_id: str) -> TenantOverrides:
        """Return what the tenant has its own way."""
        async with self._tenant(tenant_id) as connection:
            stored = await connection.fetchval(_SQL["overrides"], tenant_id)
        return read_overrides(tenant_id, stored)

    async def override(self, tenant_id: str, changes: Mapping[str, JsonValue]) -> TenantOverrides:
        """Set the keys given, remove those given as None, and return what the tenant then has."""
        kept, removed = split_changes(changes)
        async with self._tenant(tenant_id) as connection:
            merged = await connection.fetchval(_SQL["override"], tenant_id, kept, removed)
            return read_overrides(tenant_id, merged)

    async def _partition(self, connection: Any, tenant_id: str) -> int:
        """Return the number of the tenant's partition, which never changes."""
        if tenant_id not in self._partitions:
            if len(self._partitions) == MAX_TENANTS:
                self._partitions.clear()
            self._partitions[tenant_id] = await connection.fetchval(_SQL["partition"], tenant_id)
        return self._partitions[tenant_id]

    def _note_size(self, tenant_id: str, memories: int) -> None:
        """Remember whether the next search of the tenant is to use the index."""
        if memories > self._exact_up_to:
            self._large.add(tenant_id)
        elif memories:
            self._large.discard(tenant_id)

    async def _index_large(self, changes: Sequence[Change], sizes: Mapping[str, int]) -> None:
        """Index the vectors of tenants that have become too large to compare with each."""
        large = {
            (change.item.tenant_id, change.embedding.vector.shape[0])
            for change in changes
            if change.embedding is not None and sizes[change.item.tenant_id] > self._exact_up_to
        }
        for tenant_id, dimensions in sorted(large - self._indexed):
            async with self._transaction() as connection:
                # Writers of this partition wait meanwhile, which for a large one takes minutes.
                await connection.execute(
                    _SQL["index_vectors"], tenant_id, dimensions, timeout=INDEX_TIMEOUT_S
                )
            self._indexed.add((tenant_id, dimensions))

    async def ping(self) -> None:
        """Return if the database answers."""
        async with self._transaction() as connection:
            await connection.execute("SELECT 1")

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._pool.close()

    @asynccontextmanager
    async def _tenant(self, tenant_id: str) -> AsyncIterator[Any]:
        async with self._transaction() as connection:
            await connection.execute(_SQL["enter_tenant"], tenant_id)
            yield connection

    @asynccontextmanager
    async def _finding(self, tenant_id: str) -> AsyncIterator[Any]:
        begin = _SQL["begin_to_find"].replace(":tenant", tenant_id.encode().hex())
        try:
            connection = await self._pool.acquire(timeout=10)
            try:
                await connection.execute(begin)
                yield connection
            finally:
                # Nothing was written, so whoever waits for what was found need not wait for this.
                ending = asyncio.create_task(self._give_back(connection))
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
        except PASSING as error:
            raise unreachable(error) from error

    async def _give_back(self, connection: Any) -> None:
        """End a connection's transaction; one that does not let it be ended is not used again."""
        ended = False
        try:
            # If it broke, whoever asks next hears of it.
            with suppress(*PASSING):
                await connection.execute("ROLLBACK")
                ended = True
        finally:
            if not ended:
                # The pool may have noticed first that it broke, and taken it back.
                with suppress(InterfaceError):
                    connection.terminate()
            await self._pool.release(connection)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Any]:
        async with self._connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            async with self._pool.acquire(timeout=10) as connection:
                yield connection
        except PASSING as error:
            raise unreachable(error) from error
