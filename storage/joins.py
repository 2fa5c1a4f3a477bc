"""What joining searches with what happened after them needs of a store.

The store holds, in one transaction a batch, what was seen, which searches are open, what is known
of each, and what is to be published. What that means for a search, a judge decides.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, TypeVar

from models import (
    ContextUsage,
    Decision,
    Feedback,
    QueryRefinement,
    SessionAbandonment,
    Signal,
)
from models.trajectories import Course
from topics import Header

_COURSE = set(Course.model_fields)
_REST = set(Decision.model_fields) - _COURSE
_TRACED = '{"traceparent":'

KINDS: Mapping[str, type[Signal]] = {
    "usage": ContextUsage,
    "refinement": QueryRefinement,
    "abandonment": SessionAbandonment,
    "feedback": Feedback,
}
"""Signals by what the store calls them; event ids of different kinds are different events."""

_KIND_OF = {model: kind for kind, model in KINDS.items()}

DECISIONS = "join.decision"
"""The consumer of decisions; those of signals are join.usage, join.refinement, …"""

PATIENCE = timedelta(minutes=2)
"""So long a signal waits for its search: searches take seconds, and signals come after results."""

REMEMBERED = timedelta(days=7)
"""So long it is known at least which events were seen; a message that is older is refused."""

K = TypeVar("K", str, tuple[str, str])
E = TypeVar("E")

Reason = str
"""Why a signal stays without effect: late, or dangling."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A message as it came, to be kept if its signal stays without effect."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """A search as it was decided, and until when its outcome is open and can be corrected."""

    decision: Decision
    received_at: datetime
    deadline_at: datetime
    correct_until: datetime
    traceparent: str | None = None
    """The trace that the search belongs to."""
    written: bytes | None = None
    """The decision as memstream wrote it, if it is known: most of it need not be written again."""

    def course(self) -> str:
        """Return how the search was carried out as it is stored, its trace before all else."""
        told = self._course_as_written() or self.decision.model_dump_json(include=_COURSE)
        if self.traceparent is None:
            return told
        return f"{_TRACED}{json.dumps(self.traceparent)},{told[1:]}"

    def _course_as_written(self) -> str | None:
        """Return the course out of the written decision, whose other fields come last."""
        if self.written is None:
            return None
        rest = b"," + self.decision.model_dump_json(include=_REST)[1:].encode()
        if not self.written.endswith(rest):
            return None
        return self.written[: -len(rest)].decode() + "}"

    def forget_at(self, at: datetime, window: timedelta) -> datetime:
        """Return until when a search that is noted at a moment is to be known.

        What comes next in a session is needed for as long as what was before it, and what is told
        long afterwards, as in a replay, for as long as what is told at once. When a session's end
        is forgotten, the searches it ended are still known.
        """
        correctable = self.correct_until - self.decision.completed_at
        return max(self.correct_until, at + correctable) + window + PATIENCE


def without_trace(course: str) -> tuple[str | None, str]:
    """Return the trace that a search belongs to, and how it was carried out, as stored."""
    if not course.startswith(_TRACED):
        return None, course
    traceparent, end = json.JSONDecoder().raw_decode(course, len(_TRACED))
    return traceparent, "{" + course[end + 1 :]


@dataclass(frozen=True, slots=True)
class Heard:
    """A signal as it arrived."""

    signal: Signal
    received_at: datetime
    origin: Origin

    @property
    def at(self) -> datetime:
        """When it happened: as the signal says, or when it was received."""
        return self.signal.occurred_at or self.received_at

    @property
    def kind(self) -> str:
        """What the store calls it."""
        return _KIND_OF[type(self.signal)]

    @property
    def consumer(self) -> str:
        """Who has seen it."""
        return f"join.{self.kind}"

    @property
    def request_id(self) -> str | None:
        """The search it is about; None for every open one of its session."""
        named: str | None = getattr(self.signal, "request_id", None)
        return named


class Standing(NamedTuple):
    """A search as it stands: what a judge needs to know of it."""

    request_id: str
    query: str
    tokens_used: int
    succeeded: bool
    completed_at: datetime
    correct_until: datetime
    known: str
    """What the judge knew when it was last asked, in its own words."""
    outcome: str | None
    """What was published last, in the judge's words."""
    revision: int
    """Which publication that was; −1 before the first."""
    settled: bool
    """Whether time can no longer change its outcome; signals and searches still can."""
    next_query: str | None
    """The query of the next search of its session inside its window."""
    abandoned: bool
    """Whether its session was abandoned inside its window."""


class Verdict(NamedTuple):
    """What is known of a search now, and what came of it."""

    known: str
    outcome: str | None
    revision: int
    settled: bool

    def changes(self, standing: Standing) -> bool:
        """Tell whether anything is new."""
        return self != (standing.known, standing.outcome, standing.revision, standing.settled)


class Message(NamedTuple):
    """Something to publish."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


Publish = Callable[[Sequence[Message]], Awaitable[Collection[int]]]
"""Publishes messages; returns the places of those that the broker will not take as they are."""


class Judge(Protocol):
    """Decides what came of searches; plain arithmetic, called inside a transaction."""

    @property
    def window(self) -> timedelta:
        """How long after a search's completion its outcome is open."""

    def judge(self, standing: Standing, heard: Sequence[Heard], *, expired: bool) -> Verdict:
        """Return what is known after these signals, and what came of the search by that."""

    def called(self, verdict: Verdict) -> str:
        """Return what a verdict is called where outcomes are counted."""

    def publication(
        self, tenant_id: str, standing: Standing, verdict: Verdict, course: str
    ) -> Message:
        """Return what tells the world of a verdict; the course is that of the decision."""

    def dead_letter(self, heard: Heard, reason: Reason) -> Message:
        """Return what keeps a signal that stays without effect."""


@dataclass(slots=True)
class Joined:
    """What a batch came to."""

    duplicates: int = 0
    parked: int = 0
    dead: "Counter[tuple[str, Reason]]" = field(default_factory=Counter)
    """Signals that stay without effect, by the topic they came from."""
    waited_s: list[float] = field(default_factory=list)
    """For each search labelled for the first time, how long after its completion."""
    corrected: int = 0
    outcomes: "Counter[tuple[str, str]]" = field(default_factory=Counter)
    """What searches came to, by tenant and in the judge's words, corrected ones again."""
    settled: int = 0
    """How many searches and signals a sweep was done with: if as many as it may, there are more."""


@dataclass(frozen=True, slots=True)
class JoinHealth:
    """How the join is doing, over all tenants; large numbers may be of a while ago."""

    open: int
    parked: int
    outbox: int
    oldest_at: datetime | None
    """When the oldest message that is still to be published was written."""
    refused: int
    """Messages that the broker does not take; they are kept."""


class Joins(Protocol):
    """Joins searches with what happened after them, each event once, whatever comes first."""

    async def decide(self, decided: Sequence[Decided], judge: Judge, at: datetime) -> Joined:
        """Open searches, in one transaction; signals that came before are heard now."""

    async def hear(self, heard: Sequence[Heard], judge: Judge, at: datetime) -> Joined:
        """Apply signals of one kind, in one transaction; those of unknown searches wait.

        Those of searches that were known once are late.
        """

    async def settle(self, until: datetime, judge: Judge, at: datetime, most: int) -> Joined:
        """Settle what was due at a moment until which all events are known to have been read.

        Searches whose windows ended are labelled, signals that waited in vain are kept as dead
        letters, and what can no longer be corrected is forgotten.
        """

    async def forget_seen(self, before: datetime, most: int) -> int:
        """Forget which events were seen before a moment; return how many there were.

        An event is as old as its message, or as when it was noted if that was later. Items are
        not forgotten.
        """

    async def relay(self, publish: Publish, most: int, at: datetime) -> int:
        """Publish the oldest messages of the outbox and drop them; return how many there were.

        Those that the broker refuses stay, out of the way of the others.
        """

    async def release(self, until: datetime) -> int:
        """Let what was refused until then be tried again; return how many that are."""

    async def join_health(self) -> JoinHealth:
        """Return how the join is doing."""


class Ruling(NamedTuple):
    """What a judge made of some searches."""

    changed: Sequence[tuple[Standing, Verdict]]
    late: Sequence[Heard]

    @property
    def published(self) -> Sequence[tuple[Standing, Verdict]]:
        """The verdicts that are news."""
        return [(was, now) for was, now in self.changed if now.revision > was.revision]


def rule(
    judge: Judge,
    standings: Iterable[Standing],
    heard: Iterable[Heard] = (),
    *,
    expired: bool = False,
) -> Ruling:
    """Have each search judged by those of the signals that are about it and not too late."""
    about: dict[str, list[Heard]] = {}
    for one in heard:
        about.setdefault(one.request_id or "", []).append(one)
    changed, late = [], []
    for standing in standings:
        signals = about.get(standing.request_id, [])
        in_time = [one for one in signals if one.received_at <= standing.correct_until]
        late += [one for one in signals if one.received_at > standing.correct_until]
        verdict = judge.judge(standing, in_time, expired=expired)
        if verdict.changes(standing):
            changed.append((standing, verdict))
    return Ruling(changed, late)


def note(joined: Joined, tenant_id: str, ruling: Ruling, judge: Judge, at: datetime) -> None:
    """Count what a ruling came to."""
    for standing, verdict in ruling.published:
        joined.outcomes[tenant_id, judge.called(verdict)] += 1
        if verdict.revision == 0:
            joined.waited_s.append((at - standing.completed_at).total_seconds())
        else:
            joined.corrected += 1


def first_of_each(heard: Iterable[E], key: Callable[[E], K]) -> dict[K, E]:
    """Return what came first under each id, in the order of the ids."""
    first: dict[K, E] = {}
    for one in heard:
        first.setdefault(key(one), one)
    return {name: first[name] for name in sorted(first)}
