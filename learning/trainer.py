"""Learns from lessons, step by step: pure functions of state and lessons."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from learning.bootstrap import TEMPLATES, synthetic
from learning.config import LearningConfig
from learning.events import WHOLE, EventKind, PolicyEvent
from learning.evidence import RANKER, Evidence
from learning.gate import differences
from learning.lessons import Experience, Lesson, counted
from learning.listwise import rankable
from learning.logged import Logged, logged
from learning.promotion import judged, promoted, replaced, serving
from learning.running import Running
from learning.sense import blind
from learning.state import Learned
from learning.values import tally
from storage.worth import Worth

STEP = 20
"""So many new labelled searches of a tenant make a step."""

OPERATOR = "operator"
"""The actor when nobody is named."""

ASKED = "asked for"

DEFAULTS = LearningConfig()

NOTHING_SEEN: Mapping[str, Running] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Step:
    """What came of a step."""

    state: Learned
    events: Sequence[PolicyEvent] = ()
    values: Mapping[str, Worth] = field(default_factory=dict)
    """What to add to what is known of each memory."""


class Trainer:
    """Carries out steps, and what operators ask for. It keeps nothing: all is in the state."""

    def __init__(self, prior: Mapping[str, float], config: LearningConfig = DEFAULTS) -> None:
        """Take the ranker's prior, by the names of its features."""
        self._prior = dict(prior)
        self._features = tuple(sorted(prior))
        self._config = config

    def step(self, state: Learned, lessons: Sequence[Lesson]) -> Step:
        """Return the state after more lessons, normally twenty of searches not seen before.

        What is new is judged first and learned then: nothing is judged by what taught it.
        """
        config, prior = self._config, self._prior
        curve = state.positions.curve(config)
        lessons = [one for one in lessons if not state.lost.has(WHOLE, one.steps)]
        seen = _known(state, logged(lessons, config), lessons)
        lists = [one for one in lessons if not state.lost.has(RANKER, one.steps)]
        fresh = [one.experience for one in lessons if one.new and one.experience.trainable]
        rewards = [one.reward for one in fresh]
        better = differences(
            *(state.origin.with_templates(state.learner), state.serving),
            *(_first_time(seen, lessons), fresh),
            state.baseline,
            *(curve, state.positions.rates(config)),
            *(prior, config),
        )
        values = tally(lessons, curve)
        recent, earlier = _remembered(state, rewards, config)
        trials = dict(state.trials) | _tried(state, better)
        taught = state.taught + len(fresh)
        after = replace(
            state,
            learner=state.learner.after(seen, lists, curve, prior, config),
            trained=state.trained + counted(lessons),
            taught=taught,
            steps=state.steps + 1,
            exploration=exploration(taught, config, trials),
            baseline=_baseline(state, rewards, config),
            positions=state.positions.after(self._ranked(lessons)),
            trials=trials,
            live=state.live.with_all(
                one.reward for one in fresh if one.policy_version == state.version
            ),
            recent=recent,
            earlier=earlier,
        )
        after, events = judged(state, after, prior, config)
        return Step(after, events, values)

    def promote(self, state: Learned, actor: str = OPERATOR, reason: str = ASKED) -> Step:
        """Return the state with all that was learned serving at once."""
        after = promoted(state, state.learner.parts, self._config, ordered=True)
        return Step(after, [_told("promoted", after, actor, reason)])

    def rollback(self, state: Learned, actor: str = OPERATOR, reason: str = ASKED) -> Step:
        """Return the state with the version before serving again, and promotions suspended.

        Before the first version only what others know is kept from it.
        """
        after = replaced(state, self._prior, self._config)
        back: tuple[EventKind, ...] = ("rolled back",) if after.version > state.version else ()
        kinds: tuple[EventKind, ...] = (*back, "suspended")
        return Step(after, [_told(kind, after, actor, reason) for kind in kinds])

    def bootstrap(self, state: Learned, actor: str = OPERATOR, reason: str = ASKED) -> Step:
        """Return the state with the lessons of the templates serving at once.

        They stay apart from what the tenant learns: they serve, but show nothing and cross nothing.
        """
        lessons = synthetic(TEMPLATES)
        seen = logged(lessons, self._config)
        curve = state.positions.curve(self._config)
        baseline = float(np.mean([lesson.experience.reward for lesson in lessons]))
        learned = Evidence().after(seen, lessons, curve, {}, self._config).settled(baseline)
        origin = replace(state.origin, templates=state.origin.templates.plus(learned))
        after = serving(state, state.champion, origin, self._config)
        return Step(after, [_told("bootstrapped", after, actor, reason)])

    def _ranked(self, lessons: Sequence[Lesson]) -> list[tuple[Experience, float]]:
        """Return the lists that the ranker ordered, with 1 to count them and −1 to take back."""
        both = [(one.experience, 1.0) for one in lessons]
        both += [(one.before, -1.0) for one in lessons if one.before is not None]
        return [one for one in both if one[0].trainable and rankable(one[0], self._features)]


def exploration(
    taught: int, config: LearningConfig, trials: Mapping[str, Running] = NOTHING_SEEN
) -> float:
    """Return how often to try something else after so many lessons, once there was a step.

    Signals that have nothing to do with what is shown cannot tell what it would be good for.
    """
    if blind(trials, config):
        return config.exploration_floor
    falling = config.exploration / math.sqrt(1 + taught / config.exploration_horizon)
    return max(falling, config.exploration_floor)


def _known(
    state: Learned, seen: Mapping[str, Logged], lessons: Sequence[Lesson]
) -> dict[str, Logged]:
    """Return what is seen without corrections of what a rollback took out of the learner."""
    if not any(one.steps for one in lessons):
        return dict(seen)
    found = {}
    for point, rows in seen.items():
        known = np.array([not state.lost.has(point, one.steps) for one in lessons], dtype=bool)
        found[point] = rows.only(known[rows.lesson])
    return {point: rows for point, rows in found.items() if len(rows)}


def _first_time(seen: Mapping[str, Logged], lessons: Sequence[Lesson]) -> dict[str, Logged]:
    new = np.array([one.new and one.experience.trainable for one in lessons], dtype=bool)
    if new.all():
        return dict(seen)
    found = {point: rows.only(new[rows.lesson]) for point, rows in seen.items()}
    return {point: rows for point, rows in found.items() if len(rows)}


def _tried(state: Learned, better: Mapping[str, Sequence[float]]) -> dict[str, Running]:
    return {part: state.trials.get(part, Running()).with_all(better[part]) for part in better}


def _baseline(state: Learned, rewards: Sequence[float], config: LearningConfig) -> float:
    """Return the moving average; the first lessons are averaged plainly."""
    baseline, count = state.baseline, state.taught
    for reward in rewards:
        count += 1
        baseline += max(config.baseline_rate, 1 / count) * (reward - baseline)
    return baseline


def _remembered(
    state: Learned, rewards: Sequence[float], config: LearningConfig
) -> tuple[tuple[Running, ...], Running]:
    recent = (*state.recent, Running().with_all(rewards))
    if len(recent) <= config.recent_steps:
        return recent, state.earlier
    return recent[1:], state.earlier.merged(recent[0])


def _told(kind: EventKind, state: Learned, actor: str, reason: str) -> PolicyEvent:
    return PolicyEvent(kind=kind, part=WHOLE, version=state.version, reason=reason, actor=actor)
