"""The join in SQLite: one transaction a batch, in the store's one thread."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeVar

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
    note,
    rule,
)
from storage.messages import headers_of, headers_text, heard_again, origin_text
from storage.sqlite.database import writing
from storage.sqlite.rows import as_moment, as_text
from storage.statements import statements

_SQL = statements("storage.sqlite", "joins.sql")

T = TypeVar("T")
Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class SqliteJoins:
    """Joins searches with what happened after them."""

    def __init__(self, run: Run, database: Callable[[], sqlite3.Connection]) -> None:
        self._run = run
        self._database = database

    async def decide(self, decided: Sequence[Decided], judge: Judge, at: datetime) -> Joined:
        """Open searches, in one transaction; signals that came before are heard now."""
        return await self._write(judge, at, lambda batch: batch.decide(decided))

    async def hear(self, heard: Sequence[Heard], judge: Judge, at: datetime) -> Joined:
        """Apply signals, in one transaction; those of unknown searches wait."""
        return await self._write(judge, at, lambda batch: batch.hear(heard))

    async def settle(self, until: datetime, judge: Judge, at: datetime, most: int) -> Joined:
        """Settle what was due at a moment until which all events are known to have been read."""
        return await self._write(judge, at, lambda batch: batch.settle(until, most))

    async def forget_seen(self, before: datetime, most: int) -> int:
        """Forget which events were seen before a moment; return how many there were."""

        def forget() -> int:
            with writing(self._database()):
                forgotten = self._database().execute(_SQL["forget_inbox"], (as_text(before), most))
            return forgotten.rowcount

        forgotten: int = await self._run(forget)
        return forgotten

    async def relay(self, publish: Publish, most: int, at: datetime) -> int:
        """Publish the oldest messages of the outbox and drop them; return how many there were."""
        rows = await self._run(lambda: self._execute("to_publish", (most,)))
        if rows:
            refused = await publish(
                [
                    Message(topic, key, value, headers_of(headers))
                    for _, topic, key, value, headers in rows
                ]
            )
            kept = [rows[place][0] for place in refused]
            await self._run(lambda: self._drop([row[0] for row in rows], kept, as_text(at)))
        return len(rows)

    async def release(self, until: datetime) -> int:
        """Let what was refused until then be tried again; return how many that are."""
        return len(await self._run(lambda: self._execute("release", (as_text(until),))))

    async def join_health(self) -> JoinHealth:
        """Return how the join is doing."""
        rows = await self._run(lambda: self._execute("health"))
        searches, parked, outbox, oldest_at, refused = rows[0]
        return JoinHealth(searches, parked, outbox, as_moment(oldest_at), refused)

    async def _write(self, judge: Judge, at: datetime, work: Callable[["_Batch"], None]) -> Joined:
        def write() -> Joined:
            batch = _Batch(self._database(), judge, at)
            with writing(self._database()):
                work(batch)
            return batch.joined

        joined: Joined = await self._run(write)
        return joined

    def _execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._database().execute(_SQL[statement], parameters).fetchall()

    def _drop(self, ids: Sequence[int], kept: Sequence[int], at: str) -> None:
        with writing(self._database()):
            self._database().executemany(_SQL["refuse"], [(at, one) for one in kept])
            gone = [(one,) for one in ids if one not in kept]
            self._database().executemany(_SQL["published"], gone)


class _Batch:
    """One transaction."""

    def __init__(self, database: sqlite3.Connection, judge: Judge, at: datetime) -> None:
        self._database = database
        self._judge = judge
        self._at = at
        self.joined = Joined()

    def decide(self, decided: Sequence[Decided]) -> None:
        by_tenant = sorted(decided, key=lambda one: one.decision.tenant_id)
        for tenant_id, group in groupby(by_tenant, lambda one: one.decision.tenant_id):
            new = [
                one
                for one in group
                if self._is_new(tenant_id, DECISIONS, one.decision.request_id, one.received_at)
            ]
            for one in new:
                self._run("open", *self._row(one))
            touched = dict.fromkeys(self._previous(new))
            touched.update(dict.fromkeys(one.decision.request_id for one in new))
            self._judge_again(tenant_id, touched, self._unpark(tenant_id, touched))

    def hear(self, heard: Sequence[Heard]) -> None:
        by_tenant = sorted(heard, key=lambda one: one.signal.tenant_id)
        for tenant_id, group in groupby(by_tenant, lambda one: one.signal.tenant_id):
            new = [
                one
                for one in group
                if self._is_new(tenant_id, one.consumer, one.signal.event_id, one.received_at)
            ]
            bound = [one for one in new if one.request_id is not None]
            wide = [one for one in new if one.request_id is None]
            touched = dict.fromkeys(one.request_id or "" for one in bound)
            touched.update(dict.fromkeys(self._abandon(tenant_id, wide)))
            standing = self._judge_again(tenant_id, touched, bound)
            self._park(tenant_id, [one for one in bound if one.request_id not in standing])

    def settle(self, until: datetime, most: int) -> None:
        due = self._run("due", as_text(until), most)
        for tenant_id, group in groupby(sorted(due), lambda row: row[0]):
            self._judge_again(tenant_id, [row[1] for row in group], expired=True)
        waiting = self._run("waited_in_vain", as_text(until - PATIENCE), most)
        for tenant_id, request_id in waiting:
            for one in self._unpark(tenant_id, [request_id]):
                self._dangle(tenant_id, one)
        gone = self._run("abandoned_long_ago", as_text(until), most)
        for tenant_id, session_id, at, signal, received_at, origin in gone:
            if not self._run("open_at", tenant_id, session_id, at, received_at):
                moment = datetime.fromisoformat(received_at)
                self._dangle(tenant_id, heard_again("abandonment", signal, moment, origin))
        self.joined.settled = len(due) + len(waiting) + len(gone)
        if self.joined.settled < most:
            forgotten = self._database.execute(_SQL["forget"], (as_text(until), most))
            self.joined.settled += forgotten.rowcount

    def _is_new(self, tenant_id: str, consumer: str, event_id: str, at: datetime) -> bool:
        seen = (tenant_id, consumer, event_id, as_text(at))
        new = self._database.execute(_SQL["mark_seen"], seen).rowcount == 1
        self.joined.duplicates += not new
        return new

    def _row(self, one: Decided) -> tuple[Any, ...]:
        search = one.decision
        moments = (
            *(search.moment, search.completed_at, one.deadline_at, one.correct_until),
            one.forget_at(self._at, self._judge.window),
        )
        return (
            *(search.tenant_id, search.request_id, as_text(self._at), search.session_id),
            *(search.query, search.tokens_used, search.succeeded, *map(as_text, moments)),
            one.course(),
        )

    def _previous(self, new: Iterable[Decided]) -> Iterable[str]:
        for one in new:
            search = one.decision
            before = (as_text(search.moment), search.request_id)
            for row in self._run("previous", search.tenant_id, search.session_id, *before):
                yield row[0]

    def _judge_again(
        self,
        tenant_id: str,
        request_ids: Iterable[str],
        heard: Sequence[Heard] = (),
        *,
        expired: bool = False,
    ) -> set[str]:
        """Judge searches and return which of them there are."""
        rows = [row for name in request_ids for row in self._run("standing", tenant_id, name)]
        standings = [_standing(row) for row in rows]
        self._record(tenant_id, rule(self._judge, standings, heard, expired=expired))
        return {standing.request_id for standing in standings}

    def _record(self, tenant_id: str, ruling: Ruling) -> None:
        for standing, verdict in ruling.changed:
            self._run("update", *verdict, tenant_id, standing.request_id)
        for standing, verdict in ruling.published:
            course = self._run("course", tenant_id, standing.request_id)[0][0]
            self._put_out(tenant_id, self._judge.publication(tenant_id, standing, verdict, course))
        for one in ruling.late:
            self._keep(tenant_id, one, "late")
        note(self.joined, tenant_id, ruling, self._judge, self._at)

    def _abandon(self, tenant_id: str, wide: Iterable[Heard]) -> Iterable[str]:
        """Note that sessions were abandoned, and return the searches that were open then."""
        forget_at = as_text(self._at + self._judge.window + PATIENCE)
        for one in wide:
            session_id, moments = one.signal.session_id, (as_text(one.at), as_text(one.received_at))
            row = (tenant_id, session_id, one.signal.event_id, *moments, forget_at)
            self._run("abandon", *row, one.signal.model_dump_json(), origin_text(one.origin))
            for found in self._run("open_at", tenant_id, session_id, *moments):
                yield found[0]

    def _park(self, tenant_id: str, heard: Iterable[Heard]) -> None:
        for one in heard:
            if self._run("was_decided", tenant_id, one.request_id):
                self._keep(tenant_id, one, "late")  # It is forgotten since.
                continue
            self._run("wait_for", tenant_id, one.request_id, as_text(self._at))
            named = (tenant_id, one.request_id, one.kind, one.signal.event_id)
            told = (one.signal.model_dump_json(), as_text(one.received_at), origin_text(one.origin))
            self._run("park", *named, *told)
            self.joined.parked += 1

    def _unpark(self, tenant_id: str, request_ids: Iterable[str]) -> list[Heard]:
        return [
            heard_again(kind, signal, datetime.fromisoformat(received_at), origin)
            for name in request_ids
            for kind, signal, received_at, origin in self._run("unpark", tenant_id, name)
        ]

    def _dangle(self, tenant_id: str, one: Heard) -> None:
        # Replayed once its search is there, it is to have an effect.
        self._run("forget_seen", tenant_id, one.consumer, one.signal.event_id)
        self._keep(tenant_id, one, "dangling")

    def _keep(self, tenant_id: str, one: Heard, reason: Reason) -> None:
        self._put_out(tenant_id, self._judge.dead_letter(one, reason))
        self.joined.dead[one.origin.topic, reason] += 1

    def _put_out(self, tenant_id: str, message: Message) -> None:
        told = (message.topic, message.key, message.value, headers_text(message.headers))
        self._run("put_out", tenant_id, *told, as_text(self._at))

    def _run(self, statement: str, *parameters: Any) -> list[Any]:
        return self._database.execute(_SQL[statement], parameters).fetchall()


def _standing(row: Sequence[Any]) -> Standing:
    standing = Standing(*row)
    return standing._replace(
        succeeded=bool(standing.succeeded),
        completed_at=datetime.fromisoformat(row[4]),
        correct_until=datetime.fromisoformat(row[5]),
        settled=bool(standing.settled),
        abandoned=bool(standing.abandoned),
    )
