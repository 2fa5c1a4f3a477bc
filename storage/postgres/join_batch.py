"""A batch of the join in PostgreSQL: each step is one call for all of its tenants."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from models import Decision, Signal
from storage.joins import (
    DECISIONS,
    PATIENCE,
    Decided,
    Heard,
    Joined,
    Judge,
    Message,
    Reason,
    Standing,
    Verdict,
    first_of_each,
    note,
    rule,
)
from storage.messages import headers_text, heard_again, origin_text
from storage.postgres.turns import Name, in_turns, names, new_events
from storage.statements import statements
from topics import event_key

_SQL = statements("storage.postgres", "joins.sql")


class JoinBatch:
    """What one transaction makes of events of many tenants."""

    def __init__(self, connection: Any, judge: Judge, at: datetime, joined: Joined) -> None:
        self._connection = connection
        self._judge = judge
        self._at = at
        self._joined = joined

    async def decide(self, decided: Sequence[Decided]) -> None:
        """Open searches; signals that came before are heard now."""
        first = first_of_each(
            decided, lambda one: (one.decision.tenant_id, one.decision.request_id)
        )
        new = await self._new(DECISIONS, first, len(decided))
        rows = [self._row(first[name]) for name in new]
        await self._lock_sessions(first[name].decision for name in new)
        found = await in_turns(self._connection, "open", rows, self._at)
        parked = [heard_again(*signal) for _, _, *signal in found if signal[0] is not None]
        previous = [row for row in found if row[2] is None]
        await self.judge_again({*new, *names(previous)}, parked)

    async def hear(self, heard: Sequence[Heard]) -> None:
        """Apply signals of one kind; those of unknown searches wait."""
        if not heard:
            return
        first = first_of_each(heard, lambda one: (one.signal.tenant_id, one.signal.event_id))
        new = [first[name] for name in await self._new(heard[0].consumer, first, len(heard))]
        bound = [one for one in new if one.request_id is not None]
        wide = await self._abandon([one for one in new if one.request_id is None])
        named = wide | {_about(one) for one in bound}
        waiting = set(
            names(await in_turns(self._connection, "meet", sorted(named), self._at)),
        )
        await self.judge_again(named - waiting, bound)
        forgotten = set(names(await in_turns(self._connection, "forgotten", sorted(waiting))))
        await self.keep([one for one in bound if _about(one) in forgotten], "late")
        await self._park([one for one in bound if _about(one) in waiting - forgotten])

    async def judge_again(
        self,
        searches: Iterable[Name],
        heard: Sequence[Heard] = (),
        *,
        expired: bool = False,
        only_free: bool = False,
    ) -> int:
        """Judge searches that have been locked, or those of them that nobody else is judging.

        Return how many there were.
        """
        rows = await in_turns(self._connection, "standings", sorted(searches), only_free)
        about: dict[str, list[Heard]] = {}
        for one in heard:
            about.setdefault(one.signal.tenant_id, []).append(one)
        changed: dict[Name, tuple[Standing, Verdict]] = {}
        late: list[Heard] = []
        for tenant_id, group in groupby(rows, lambda row: row[0]):
            standings = [Standing(*fields) for _, *fields in group]
            ruling = rule(self._judge, standings, about.get(tenant_id, ()), expired=expired)
            changed |= {(tenant_id, was.request_id): (was, now) for was, now in ruling.changed}
            late += ruling.late
            note(self._joined, tenant_id, ruling, self._judge, self._at)
        await self._record(changed)
        await self.keep(late, "late")
        return len(rows)

    async def keep(self, dead: Sequence[Heard], reason: Reason) -> None:
        """Keep signals that stay without effect."""
        await self._put_out(
            [(one.signal.tenant_id, self._judge.dead_letter(one, reason)) for one in dead]
        )
        for one in dead:
            self._joined.dead[one.origin.topic, reason] += 1

    async def _new(
        self, consumer: str, first: Mapping[Name, Decided | Heard], count: int
    ) -> Sequence[Name]:
        seen_at = {name: one.received_at for name, one in first.items()}
        new = await new_events(self._connection, consumer, seen_at)
        self._joined.duplicates += count - len(new)
        return new

    def _row(self, one: Decided) -> tuple[Any, ...]:
        search = one.decision
        return (
            *(search.tenant_id, search.request_id, search.session_id, search.query),
            *(search.tokens_used, search.succeeded, search.moment, search.completed_at),
            *(one.deadline_at, one.correct_until, one.forget_at(self._at, self._judge.window)),
            one.course(),
        )

    async def _record(self, changed: Mapping[Name, tuple[Standing, Verdict]]) -> None:
        rows = [
            (*name, *verdict, verdict.revision > standing.revision)
            for name, (standing, verdict) in sorted(changed.items())
        ]
        courses = await in_turns(self._connection, "record", rows)
        await self._put_out(
            [
                (owner, self._judge.publication(owner, *changed[owner, request_id], course))
                for owner, request_id, course in courses
                if course is not None
            ]
        )

    async def _lock_sessions(self, of: Iterable[Decision | Signal]) -> None:
        """See to it that searches and the ends of their sessions do not miss each other."""
        sessions = {event_key(one.tenant_id, one.session_id).decode() for one in of}
        if sessions:
            await self._connection.execute(_SQL["lock_sessions"], sorted(sessions))

    async def _abandon(self, wide: Sequence[Heard]) -> set[Name]:
        """Note that sessions were abandoned, and return the searches that were open then."""
        rows = [
            (
                *(one.signal.tenant_id, one.signal.session_id, one.signal.event_id, one.at),
                *(one.received_at, one.signal.model_dump_json(), origin_text(one.origin)),
            )
            for one in wide
        ]
        forget_at = self._at + self._judge.window + PATIENCE
        await self._lock_sessions(one.signal for one in wide)
        return set(names(await in_turns(self._connection, "abandon", rows, forget_at)))

    async def _park(self, waiting: Sequence[Heard]) -> None:
        rows = [
            (
                *(*_about(one), one.kind, one.signal.event_id),
                *(one.signal.model_dump_json(), one.received_at, origin_text(one.origin)),
            )
            for one in waiting
        ]
        await in_turns(self._connection, "park", rows)
        self._joined.parked += len(rows)

    async def _put_out(self, messages: Sequence[tuple[str, Message]]) -> None:
        rows = [
            (owner, one.topic, one.key, one.value, headers_text(one.headers))
            for owner, one in sorted(messages, key=lambda message: message[0])
        ]
        await in_turns(self._connection, "put_out", rows, self._at)


def _about(one: Heard) -> Name:
    return one.signal.tenant_id, one.request_id or ""
