"""Labels searches: what came of them, what that is worth, and until when it may change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import Field

from learning.outcomes import Aftermath, outcome
from learning.rewards import RewardWeights, reward, trainable
from models import Decision, Outcome, Record
from models.identifiers import Identifier
from models.quantities import Moment
from storage.joins import Decided, Heard, Message, Standing, Verdict, without_trace
from topics import Topic, TopicNames, dead_letter_headers
from topics.keys import tenant_key
from topics.traces import span_of

REASONS = {
    "late": "it came after its search could be corrected",
    "dangling": "there is no such search of this tenant, or its outcome is closed",
}


@dataclass(frozen=True, slots=True)
class Windows:
    """How long the outcome of a search is open, and how long after that it can be corrected."""

    outcome: timedelta
    correction: timedelta

    def decided(
        self,
        decision: Decision,
        received_at: datetime,
        traceparent: str | None = None,
        written: bytes | None = None,
    ) -> Decided:
        """Return a search with its deadlines."""
        deadline_at = decision.completed_at + self.outcome
        correct_until = deadline_at + self.correction
        return Decided(decision, received_at, deadline_at, correct_until, traceparent, written)


class Came(Outcome):
    """An outcome with the memories behind it: when either changes, that is news."""

    used: tuple[Identifier, ...] = Field(default=(), strict=False)


class Label(Record):
    """What a trajectory has that a decision has not."""

    revision: int
    outcome: Outcome
    used: tuple[Identifier, ...]
    reward: float
    trainable: bool
    labelled_at: Moment


class Labeller:
    """The judge of the join."""

    def __init__(
        self,
        windows: Windows,
        weights: RewardWeights,
        names: TopicNames,
        clock: Callable[[], datetime],
    ) -> None:
        self._windows = windows
        self._weights = weights
        self._trajectories = names.name(Topic.TRAJECTORIES)
        self._dead_letters = names.name(Topic.DEAD_LETTERS)
        self._clock = clock

    @property
    def window(self) -> timedelta:
        """How long after a search's completion its outcome is open."""
        return self._windows.outcome

    def decided(
        self,
        decision: Decision,
        received_at: datetime,
        traceparent: str | None = None,
        written: bytes | None = None,
    ) -> Decided:
        """Return a search with its deadlines."""
        return self._windows.decided(decision, received_at, traceparent, written)

    def judge(self, standing: Standing, heard: Sequence[Heard], *, expired: bool) -> Verdict:
        """Return what is known after these signals, and what came of the search by that."""
        known = Aftermath.model_validate_json(standing.known)
        for one in heard:
            known = known.after(one.signal, one.at)
        if standing.abandoned:
            known = known.model_copy(update={"abandoned": True})
        settled = standing.settled or expired or known.decisive
        came = outcome(known, standing.query, standing.next_query, expired=settled)
        written = (
            Came(**dict(came), used=known.memories).model_dump_json(
                exclude_none=True, exclude_defaults=True
            )
            if came
            else None
        )
        # What was taken for a rewording may turn out not to be one: then time must tell.
        news = written is not None and written != standing.outcome
        return Verdict(
            known.model_dump_json(exclude_defaults=True),
            written if news else standing.outcome,
            standing.revision + news,
            settled,
        )

    def called(self, verdict: Verdict) -> str:
        """Return the type of an outcome."""
        return Came.model_validate_json(verdict.outcome or "").type

    def publication(
        self, tenant_id: str, standing: Standing, verdict: Verdict, course: str
    ) -> Message:
        """Return the labelled trajectory, in the trace of its search."""
        traceparent, course = without_trace(course)
        told = {"memstream.tenant_id": tenant_id, "memstream.request_id": standing.request_id}
        with span_of(traceparent, "label", told) as one:
            value = self._labelled(standing, verdict, course)
            one.set({"memstream.revision": verdict.revision})
            carried = one.traceparent or traceparent
        headers = [("traceparent", carried.encode())] if carried else []
        return Message(self._trajectories, tenant_key(tenant_id), value.encode(), headers)

    def _labelled(self, standing: Standing, verdict: Verdict, course: str) -> str:
        came = Came.model_validate_json(verdict.outcome or "")
        label = Label(
            revision=verdict.revision,
            outcome=Outcome(**came.model_dump(exclude={"used"})),
            used=came.used,
            reward=reward(came, standing.tokens_used, self._weights),
            trainable=trainable(came, standing.query, succeeded=standing.succeeded),
            labelled_at=self._clock(),
        )
        # Both are objects with members: put side by side they need not be read and written again.
        return f"{course[:-1]},{label.model_dump_json()[1:]}"

    def dead_letter(self, heard: Heard, reason: str) -> Message:
        """Return what keeps a signal that stays without effect."""
        origin = heard.origin
        headers = dead_letter_headers(
            origin.headers,
            code=reason,
            message=REASONS[reason],
            topic=origin.topic,
            partition=origin.partition,
            offset=origin.offset,
            at=self._clock(),
        )
        return Message(self._dead_letters, origin.key, origin.value, headers)
