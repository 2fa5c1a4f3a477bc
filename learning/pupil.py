"""What a store teaches: the trainer behind texts, so that a store need not know what it keeps."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from math import isfinite
from typing import Generic, TypeVar

import numpy as np

from learning.config import LearningConfig
from learning.events import WHOLE, PolicyEvent
from learning.lessons import Lesson as LearningLesson
from learning.lessons import condensed, counted, lesson_of
from learning.prior import Contribution, Pool, pooled
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Step, Trainer
from models import ServingPolicy, Trajectory
from storage.joins import Message
from storage.lessons import Lesson
from storage.policies import Event, OrderError, Taught
from topics import Topic, TopicNames, encode
from topics.keys import tenant_key

DELAY = timedelta(hours=1)
"""So long after it was heard a correction may still be on its way here."""

REMEMBERED = 64
"""Of so many tenants the state is kept as it was last written: reading it takes milliseconds."""

Watch = Callable[[Learned, Sequence[LearningLesson]], None]

T = TypeVar("T")


class Pupil:
    """Learns for tenants, each from its own state."""

    step = STEP

    def __init__(
        self,
        prior: Mapping[str, float],
        config: LearningConfig,
        names: TopicNames,
        correctable: timedelta,
        watch: Watch | None = None,
    ) -> None:
        """Take the ranker's prior, and who is to be shown each step before it is made."""
        self.correctable = correctable + DELAY
        self._prior = dict(prior)
        self._config = config
        self._trainer = Trainer(prior, config)
        self._watch = watch
        self._topic = names.name(Topic.POLICIES)
        self._states = _Remembered(Learned.loads)
        self._pools = _Remembered(Pool.loads)

    def note(self, trajectory: Trajectory) -> str:
        """Return what a lesson needs of a trajectory."""
        return condensed(trajectory)

    def teach(self, state: str | None, lessons: Sequence[Lesson]) -> Taught:
        """Learn one step; without a state it begins."""
        learned = self._learned(state)
        read = [lesson_of(*one) for one in lessons]
        if self._watch is not None:
            self._watch(learned, read)
        try:
            with np.errstate(over="raise", invalid="raise"):
                return self._taught(self._trainer.step(learned, read))
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            return self._taught(_passed_over(learned, read, error))

    def obey(
        self, state: str | None, order: str, actor: str, why: str, *, blended: bool = False
    ) -> Taught:
        """Do what an operator ordered; raise OrderError if that cannot be done.

        Who is served by what others know can be kept from it by a rollback.
        """
        learned = self._learned(state)
        if order == "promote" and not learned.learner.parts:
            raise OrderError("there is nothing to promote: nothing was learned yet")
        if order == "rollback" and not learned.version and not blended:
            raise OrderError("there is nothing to go back to: the shipped policy serves")
        orders = {
            "promote": self._trainer.promote,
            "rollback": self._trainer.rollback,
            "bootstrap": self._trainer.bootstrap,
        }
        return self._taught(orders[order](learned, actor, why))

    def gather(self, contributions: Iterable[str]) -> str:
        """Return what tenants have learned together; whose each is, their order alone tells."""
        given = [
            (f"{place:09}", Contribution.loads(one)) for place, one in enumerate(contributions)
        ]
        return pooled(given).dumps()

    def serve(self, state: str | None, pool: str | None, own: str | None) -> Mapping[str, float]:
        """Return the weights that serve a tenant."""
        others = None
        if pool is not None:
            others = self._pools.read(pool).without(Contribution.loads(own) if own else None)
        return serving_weights(self._learned(state), others, self._prior, self._config)

    def publication(self, policy: ServingPolicy) -> Message:
        """Return what tells the world of a policy."""
        return Message(self._topic, tenant_key(policy.tenant_id), encode(policy))

    def _learned(self, state: str | None) -> Learned:
        return Learned.fresh(self._prior) if state is None else self._states.read(state)

    def _taught(self, step: Step) -> Taught:
        state = step.state
        if not all(map(isfinite, serving_weights(state, None, self._prior, self._config).values())):
            raise ArithmeticError("a weight is not a number")
        gives = state.trained and not state.suspended
        text = state.dumps()
        self._states.keep(text, state)
        return Taught(
            state=text,
            version=state.version,
            trained=state.trained,
            exploration=state.exploration,
            contribution=state.contribution(self._config).dumps() if gives else None,
            events=[_event(event) for event in step.events],
            values=step.values,
        )


def _passed_over(learned: Learned, lessons: Sequence[LearningLesson], error: Exception) -> Step:
    """Return the step that learns nothing: tried again, these lessons would hold up all others."""
    step = learned.steps + 1
    state = replace(
        learned,
        steps=step,
        trained=learned.trained + counted(lessons),
        lost=learned.lost.passed_over(step),
    )
    reason = f"nothing could be learned from these lessons: {error}"
    return Step(state, [PolicyEvent(kind="held", part=WHOLE, version=state.version, reason=reason)])


def _event(event: PolicyEvent) -> Event:
    return Event(event.kind, event.version, event.model_dump_json())


class _Remembered(Generic[T]):
    """What texts say, of those that were read or written last."""

    def __init__(self, load: Callable[[str], T]) -> None:
        self._load = load
        self._known: OrderedDict[str, T] = OrderedDict()

    def read(self, text: str) -> T:
        """Return what a text says."""
        known = self._known.get(text)
        if known is None:
            known = self._load(text)
            self.keep(text, known)
        return known

    def keep(self, text: str, said: T) -> None:
        """Remember what a text says, and forget the one that was kept first."""
        self._known[text] = said
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
