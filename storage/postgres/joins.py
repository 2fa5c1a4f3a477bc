"""The join in PostgreSQL: one transaction a batch, and few calls however many its tenants are."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from storage.joins import (
    PATIENCE,
    Decided,
    Heard,
    Joined,
    JoinHealth,
    Judge,
    Message,
    Publish,
)
from storage.messages import headers_of, heard_again
from storage.postgres.join_batch import JoinBatch
from storage.statements import statements

_SQL = statements("storage.postgres", "joins.sql")

TENANTS_AT_ONCE = 128
"""A sweep of many tenants is several transactions, so that nobody waits long for one to end."""

Transaction = Callable[[], AbstractAsyncContextManager[Any]]


class PostgresJoins:
    """Joins searches with what happened after them."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def decide(self, decided: Sequence[Decided], judge: Judge, at: datetime) -> Joined:
        """Open searches, in one transaction; signals that came before are heard now."""
        joined = Joined()
        async with self._transaction() as connection:
            await JoinBatch(connection, judge, at, joined).decide(decided)
        return joined

    async def hear(self, heard: Sequence[Heard], judge: Judge, at: datetime) -> Joined:
        """Apply signals of one kind, in one transaction; those of unknown searches wait."""
        joined = Joined()
        async with self._transaction() as connection:
            await JoinBatch(connection, judge, at, joined).hear(heard)
        return joined

    async def settle(self, until: datetime, judge: Judge, at: datetime, most: int) -> Joined:
        """Settle what was due at a moment until which all events are known to have been read."""
        joined = Joined()
        async with self._transaction() as connection:
            due = await connection.fetch(_SQL["due_by"], until, PATIENCE, most)
        for start in range(0, len(due), TENANTS_AT_ONCE):
            async with self._transaction() as connection:
                sweep = _Sweep(connection, JoinBatch(connection, judge, at, joined), until)
                joined.settled += await sweep.settle(due[start : start + TENANTS_AT_ONCE])
        if joined.settled < most:
            async with self._transaction() as connection:
                joined.settled += await connection.fetchval(_SQL["forget"], until, most)
        return joined

    async def forget_seen(self, before: datetime, most: int) -> int:
        """Forget which events were seen before a moment; return how many there were."""
        async with self._transaction() as connection:
            forgotten: int = await connection.fetchval(_SQL["forget_inbox"], before, most)
        return forgotten

    async def relay(self, publish: Publish, most: int, at: datetime) -> int:
        """Publish the oldest messages of the outbox and drop them; return how many there were."""
        async with self._transaction() as connection:
            rows = sorted(await connection.fetch(_SQL["take_outbox"], most))
            if rows:
                refused = await publish(
                    [
                        Message(topic, key, value, headers_of(headers))
                        for _, _, topic, key, value, headers, _ in rows
                    ]
                )
                for place in refused:
                    _, tenant_id, *message = rows[place]
                    await connection.execute(_SQL["enter_tenant"], tenant_id)
                    await connection.execute(_SQL["refuse"], tenant_id, *message, at)
        return len(rows)

    async def release(self, until: datetime) -> int:
        """Let what was refused until then be tried again; return how many that are."""
        async with self._transaction() as connection:
            released: int = await connection.fetchval(_SQL["release"], until)
        return released

    async def join_health(self) -> JoinHealth:
        """Return how the join is doing."""
        async with self._transaction() as connection:
            row = await connection.fetchrow(_SQL["health"])
        return JoinHealth(*row)


class _Sweep:
    """What one transaction settles."""

    def __init__(self, connection: Any, batch: JoinBatch, until: datetime) -> None:
        self._connection = connection
        self._batch = batch
        self._until = until

    async def settle(self, due: Sequence[Any]) -> int:
        """Settle what is due of some tenants, and return how much that was."""
        searches = [(owner, one) for owner, ended, _, _ in due for one in ended]
        judged = await self._batch.judge_again(searches, expired=True, only_free=True)
        for owner, _, waiting, sessions in due:
            if waiting or sessions:
                await self._connection.execute(_SQL["enter_tenant"], owner)
                await self._give_up(owner, waiting)
                await self._forget_sessions(owner, sessions)
        return judged + sum(len(waiting) + len(sessions) for _, _, waiting, sessions in due)

    async def _give_up(self, owner: str, waiting: Sequence[str]) -> None:
        gone = await self._fetch("give_up", owner, waiting, self._until - PATIENCE)
        parked = await self._fetch("unpark", owner, [row[0] for row in gone])
        await self._dangle([heard_again(*row) for row in parked])

    async def _forget_sessions(self, owner: str, sessions: Sequence[str]) -> None:
        for ended in await self._fetch("forget_sessions", owner, sessions, self._until):
            session_id, at, signal, received_at, origin = ended
            if not await self._fetch("open_at", owner, session_id, at, received_at):
                await self._dangle([heard_again("abandonment", signal, received_at, origin)])

    async def _dangle(self, gone: Sequence[Heard]) -> None:
        for one in gone:
            # Replayed once its search is there, it is to have an effect.
            owner, event_id = one.signal.tenant_id, one.signal.event_id
            await self._fetch("forget_seen", owner, one.consumer, event_id)
        await self._batch.keep(gone, "dangling")

    async def _fetch(self, statement: str, *parameters: Any) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(_SQL[statement], *parameters)
        return rows
