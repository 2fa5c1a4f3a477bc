"""The join in PostgreSQL: one transaction a batch, a handful of statements a tenant."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from itertools import groupby
from typing import Any

from models.trajectories import Course
from storage.joins import (
    DECISIONS,
    PATIENCE,
    Decided,
    Heard,
    Joined,
    JoinHealth,
    Judge,
    Message,
    Publish,
    Reason,
    Ruling,
    Standing,
    first_of_each,
    note,
    rule,
)
from storage.messages import headers_of, headers_text, heard_again, origin_text
from storage.postgres.write import unseen
from storage.statements import statements

_SQL = statements("storage.postgres", "joins.sql")

TENANTS_AT_ONCE = 32
"""A sweep of many tenants is several transactions, so that nobody waits long for one to end."""

Transaction = Callable[[], AbstractAsyncContextManager[Any]]


class PostgresJoins:
    """Joins searches with what happened after them."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def decide(self, decided: Sequence[Decided], judge: Judge, at: datetime) -> Joined:
        """Open searches, in one transaction; signals that came before are heard now."""
        joined = Joined()
        by_tenant = sorted(decided, key=lambda one: one.decision.tenant_id)
        async with self._transaction() as connection:
            for tenant_id, group in groupby(by_tenant, lambda one: one.decision.tenant_id):
                await _Tenant(connection, tenant_id, judge, at, joined).decide(list(group))
        return joined

    async def hear(self, heard: Sequence[Heard], judge: Judge, at: datetime) -> Joined:
        """Apply signals of one kind, in one transaction; those of unknown searches wait."""
        joined = Joined()
        by_tenant = sorted(heard, key=lambda one: one.signal.tenant_id)
        async with self._transaction() as connection:
            for tenant_id, group in groupby(by_tenant, lambda one: one.signal.tenant_id):
                await _Tenant(connection, tenant_id, judge, at, joined).hear(list(group))
        return joined

    async def settle(self, until: datetime, judge: Judge, at: datetime, most: int) -> Joined:
        """Settle what was due at a moment until which all events are known to have been read."""
        joined = Joined()
        async with self._transaction() as connection:
            due = await connection.fetch(_SQL["due_by"], until, PATIENCE, most)
        for start in range(0, len(due), TENANTS_AT_ONCE):
            async with self._transaction() as connection:
                for tenant_id, *names in due[start : start + TENANTS_AT_ONCE]:
                    tenant = _Tenant(connection, tenant_id, judge, at, joined)
                    await tenant.settle(until, *names)
        if joined.settled < most:
            async with self._transaction() as connection:
                joined.settled += await connection.fetchval(_SQL["forget"], until, most)
        return joined

    async def relay(self, publish: Publish, most: int) -> int:
        """Publish the oldest messages of the outbox and drop them; return how many there were."""
        async with self._transaction() as connection:
            rows = sorted(await connection.fetch(_SQL["take_outbox"], most))
            if rows:
                await publish(
                    [
                        Message(topic, key, value, headers_of(headers))
                        for _, topic, key, value, headers in rows
                    ]
                )
        return len(rows)

    async def join_health(self) -> JoinHealth:
        """Return how the join is doing."""
        async with self._transaction() as connection:
            row = await connection.fetchrow(_SQL["health"])
        return JoinHealth(row[0], row[1], row[2], row[3])


class _Tenant:
    """One tenant's part of a transaction."""

    def __init__(
        self, connection: Any, tenant_id: str, judge: Judge, at: datetime, joined: Joined
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._judge = judge
        self._at = at
        self._joined = joined

    async def decide(self, decided: Sequence[Decided]) -> None:
        first = first_of_each(decided, lambda one: one.decision.request_id)
        new = await self._new(DECISIONS, first, len(decided))
        if new:
            await self._many("open", [self._row(first[name]) for name in new])
            parked = await self._unpark(new)
            previous = await self._fetch("previous", *_places(first[name] for name in new))
            await self._judge_again({*new, *(row[0] for row in previous)}, parked)

    async def hear(self, heard: Sequence[Heard]) -> None:
        first = first_of_each(heard, lambda one: one.signal.event_id)
        new = [first[name] for name in await self._new(heard[0].consumer, first, len(heard))]
        bound = [one for one in new if one.request_id is not None]
        named = {one.request_id or "" for one in bound}
        wide = await self._abandon([one for one in new if one.request_id is None])
        there = await self._judge_again(named | wide, bound)
        missing = sorted(named - there)
        if missing:
            rows = await self._fetch("wait_for", missing, self._at)
            came = {row[0] for row in rows}
            await self._judge_again(came, bound)
            waiting = named - there - came
            await self._park([one for one in bound if one.request_id in waiting])

    async def settle(
        self,
        until: datetime,
        searches: Sequence[str],
        waiting: Sequence[str],
        sessions: Sequence[str],
    ) -> None:
        await self._connection.execute(_SQL["enter_tenant"], self._tenant_id)
        await self._judge_again(searches, expired=True, lock="lock_if_free")
        if waiting:
            gone = await self._fetch("give_up", waiting, until - PATIENCE)
            for one in await self._unpark([row[0] for row in gone]):
                await self._dangle(one)
        if sessions:
            for ended in await self._fetch("forget_sessions", sessions, until):
                session_id, at, signal, received_at, origin = ended
                if not await self._fetch("open_at", [session_id], [at], [received_at]):
                    await self._dangle(heard_again("abandonment", signal, received_at, origin))
        self._joined.settled += len(searches) + len(waiting) + len(sessions)

    async def _new(self, consumer: str, first: dict[str, Any], count: int) -> list[str]:
        await self._connection.execute(_SQL["enter_tenant"], self._tenant_id)
        seen_at = {name: one.received_at for name, one in first.items()}
        new = await unseen(self._connection, self._tenant_id, consumer, seen_at)
        self._joined.duplicates += count - len(new)
        return sorted(new)

    def _row(self, one: Decided) -> tuple[Any, ...]:
        search = one.decision
        return (
            *(search.tenant_id, search.request_id, self._at, search.session_id, search.query),
            *(search.tokens_used, search.succeeded, search.started_at, search.completed_at),
            *(one.deadline_at, one.correct_until, one.forget_at(self._at, self._judge.window)),
            search.model_dump_json(include=set(Course.model_fields)),
        )

    async def _judge_again(
        self,
        request_ids: Iterable[str],
        heard: Sequence[Heard] = (),
        *,
        expired: bool = False,
        lock: str = "lock",
    ) -> set[str]:
        """Judge searches and return which of them there are."""
        asked = sorted(request_ids)
        if not asked:
            return set()
        locked = [row[0] for row in await self._fetch(lock, asked)]
        if not locked:
            return set()
        standings = [Standing(*row) for row in await self._fetch("standing", locked)]
        await self._record(rule(self._judge, standings, heard, expired=expired))
        return {one.request_id for one in standings}

    async def _record(self, ruling: Ruling) -> None:
        changes = [
            (self._tenant_id, standing.request_id, *verdict) for standing, verdict in ruling.changed
        ]
        await self._many("update", changes)
        news = {standing.request_id: (standing, verdict) for standing, verdict in ruling.published}
        if news:
            courses = await self._fetch("courses", list(news))
            publications = [
                self._judge.publication(self._tenant_id, *news[request_id], course)
                for request_id, course in courses
            ]
            await self._put_out(publications)
        for one in ruling.late:
            await self._keep(one, "late")
        note(self._joined, ruling, self._at)

    async def _abandon(self, wide: Sequence[Heard]) -> set[str]:
        """Note that sessions were abandoned, and return the searches that were open then."""
        if not wide:
            return set()
        forget_at = self._at + self._judge.window + PATIENCE
        rows = [
            (
                *(self._tenant_id, one.signal.session_id, one.signal.event_id, one.at),
                *(one.received_at, forget_at, one.signal.model_dump_json()),
                origin_text(one.origin),
            )
            for one in wide
        ]
        await self._many("abandon", rows)
        found = await self._fetch(
            "open_at",
            [one.signal.session_id for one in wide],
            [one.at for one in wide],
            [one.received_at for one in wide],
        )
        return {row[0] for row in found}

    async def _park(self, heard: Sequence[Heard]) -> None:
        rows = [
            (
                *(self._tenant_id, one.request_id, one.kind, one.signal.event_id),
                *(one.signal.model_dump_json(), one.received_at, origin_text(one.origin)),
            )
            for one in heard
        ]
        await self._many("park", rows)
        self._joined.parked += len(rows)

    async def _unpark(self, request_ids: Sequence[str]) -> list[Heard]:
        return [heard_again(*row) for row in await self._fetch("unpark", list(request_ids))]

    async def _dangle(self, one: Heard) -> None:
        # Replayed once its search is there, it is to have an effect.
        await self._fetch("forget_seen", one.consumer, one.signal.event_id)
        await self._keep(one, "dangling")

    async def _keep(self, one: Heard, reason: Reason) -> None:
        await self._put_out([self._judge.dead_letter(one, reason)])
        self._joined.dead[one.origin.topic, reason] += 1

    async def _put_out(self, messages: Sequence[Message]) -> None:
        rows = [
            (
                *(self._tenant_id, message.topic, message.key, message.value),
                *(headers_text(message.headers), self._at),
            )
            for message in messages
        ]
        await self._many("put_out", rows)

    async def _fetch(self, statement: str, *parameters: Any) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(
            _SQL[statement], self._tenant_id, *parameters
        )
        return rows

    async def _many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            await self._connection.executemany(_SQL[statement], rows)


def _places(new: Iterable[Decided]) -> tuple[list[str], list[datetime], list[str]]:
    searches = [one.decision for one in new]
    return (
        [search.session_id for search in searches],
        [search.started_at for search in searches],
        [search.request_id for search in searches],
    )
