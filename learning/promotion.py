"""Which version serves: promotion of what is better, rollback of what turned out worse."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from learning.config import LearningConfig
from learning.estimators import bernstein_bounds
from learning.events import WHOLE, EventKind, PolicyEvent
from learning.evidence import RANKER, Evidence
from learning.origin import Former, Origin
from learning.prior import WITHIN
from learning.running import Running
from learning.sense import SENSE, tells
from learning.state import Learned
from models.choices import Point

UNSURE = 1.75
"""How much further bounds are within places: what is usual there is known from no more lists than
were tried, and whoever learned from the same lists makes the same mistakes."""

ROUTE: Point = "route"
"""The choice that nobody can make beforehand, and of which most is tried. What is shipped for the
others was fitted, and little is tried there: another option must surely be better."""

RANKED: tuple[Point, ...] = ("recipe", "keywords", "pool")
"""Choices of which one option is the ranker, or is worth what it is: once another one serves, what
they were tried against is no more."""

REGRESSED = "rewards are below those of the version before"
DROPPED = "rewards fell suddenly"


def judged(
    before: Learned, after: Learned, prior: Mapping[str, float], config: LearningConfig
) -> tuple[Learned, list[PolicyEvent]]:
    """Return the state after a step with the version that is to serve, and what happened to it."""
    why = _worse(after, config)
    if why is not None:
        return _rolled_back(after, why, prior, config)
    state, events = _resumed(after)
    if state.suspended:
        return state, events
    bounds = trial_bounds(state, config)
    enough = [
        part
        for part in sorted(bounds)
        if part not in (WITHIN, SENSE) and state.trials[part].n >= config.gate_lessons
    ]
    won = [part for part in enough if _passes(part, state, bounds, config)]
    chosen = promoted(state, won, config) if won else state
    chosen = _begun_anew(chosen, {*enough} - {*won}, config)
    for part in enough:
        held = part not in won
        if held and not _doubled(before.trials.get(part, Running()), state.trials[part], config):
            continue
        reason = "not shown to be as good as what serves" if held else "better than what served"
        kind: EventKind = "held" if held else "promoted"
        trial = state.trials[part]
        events.append(_event(kind, part, chosen, trial, bounds[part], reason))
    return chosen, events


def trial_bounds(state: Learned, config: LearningConfig) -> dict[str, tuple[float, float]]:
    """Return the bounds of each trial, as far apart as the gate wants them."""
    # What an operator let serve has shown nothing yet.
    known = {*state.champion.parts} - state.origin.ordered
    sure = tells(state.trials, config)
    return {
        part: _bounds(state.trials[part], _sureness(part, known, config, trusted=sure), config)
        for part in sorted(state.trials)
    }


def promoted(
    state: Learned, parts: Iterable[str], config: LearningConfig, *, ordered: bool = False
) -> Learned:
    """Return the state with what was learned of these parts serving, ordered or shown better."""
    parts = [*parts]
    learner = state.learner.settled(state.baseline)
    champion = state.champion
    for part in parts:
        champion = champion.with_part(part, learner)
    over = {*parts, WITHIN, *RANKED} if RANKER in parts else {*parts}
    trials = {part: trial for part, trial in state.trials.items() if part not in over}
    origin = state.origin.promoted(parts, state.steps, ordered=ordered)
    return replace(serving(state, champion, origin, config), trials=trials)


def replaced(state: Learned, prior: Mapping[str, float], config: LearningConfig) -> Learned:
    """Return the state with the version before serving; after a rollback, with the prior alone.

    What was learned since is not trusted: the learner goes back as well.
    """
    back = (None if state.rolled_back else state.previous) or Former(Evidence.none(prior), Origin())
    kept = {part: back.origin.steps.get(part, 0) for part in (*state.learner.points, RANKER)}
    if state.serving.parts:
        state = replace(serving(state, *back, config), previous=None, former=None, rolled_back=True)
    return replace(
        state,
        learner=back.evidence,
        lost=state.lost.after(kept, state.steps),
        trials={},
        recent=(),
        earlier=Running(),
        suspended_until=state.trained + config.suspension,
    )


def serving(state: Learned, champion: Evidence, origin: Origin, config: LearningConfig) -> Learned:
    """Return the state with another policy serving: the next version, watched from now on.

    It is compared with the one before it; with those before that too, if that served but shortly.
    """
    former = state.live
    if former.n < config.live_lessons and state.former is not None:
        former = former.merged(state.former)
    return replace(
        state,
        champion=champion,
        origin=origin,
        previous=Former(state.champion, state.origin),
        rolled_back=False,
        version=state.version + 1,
        live=Running(),
        former=former,
    )


def _worse(state: Learned, config: LearningConfig) -> str | None:
    """Return in which way rewards have fallen, if they have."""
    live, former = state.live, state.former
    if former is not None and _below(live, former, config.live_z, config):
        return REGRESSED
    if _below(_merged(state.recent), state.earlier, config.drop_z, config):
        return DROPPED
    return None


def _below(low: Running, high: Running, z: float, config: LearningConfig) -> bool:
    enough = min(low.n, high.n) >= config.live_lessons
    return enough and low.bounds(z)[1] < high.bounds(z)[0]


def _rolled_back(
    state: Learned, why: str, prior: Mapping[str, float], config: LearningConfig
) -> tuple[Learned, list[PolicyEvent]]:
    fallen = state.live if why == REGRESSED else _merged(state.recent)
    after = replaced(state, prior, config)
    kinds: list[EventKind] = ["rolled back"] if after.version > state.version else []
    return after, [
        _event(kind, WHOLE, after, fallen, fallen.bounds(config.live_z), why)
        for kind in [*kinds, "suspended"]
    ]


def _resumed(state: Learned) -> tuple[Learned, list[PolicyEvent]]:
    if not state.suspended_until or state.suspended:
        return state, []
    state = replace(state, suspended_until=0)
    reason = "the time it was suspended for is over"
    return state, [PolicyEvent(kind="resumed", part=WHOLE, version=state.version, reason=reason)]


def _passes(
    part: str,
    state: Learned,
    bounds: Mapping[str, tuple[float, float]],
    config: LearningConfig,
) -> bool:
    """Tell whether a challenger may serve: surely better; of routes, what is surely hardly worse.

    While signals tell nothing routes must be surely better too: not being worse by such signals is
    no merit.
    """
    if part == RANKER:
        return bounds[RANKER][0] > 0 and bounds[WITHIN][0] > 0
    trusted = part == ROUTE and tells(state.trials, config)
    margin = config.gate_margin if trusted else 0.0
    return state.trials[part].mean > 0 and bounds[part][0] > -margin


def _begun_anew(state: Learned, held: Collection[str], config: LearningConfig) -> Learned:
    """Return the state with a trial of routes begun anew that began badly, and knew half as much.

    A trial adds up what learners would have done that knew less and less, back to one that knew
    next to nothing: without this, whoever began badly would wait for ever. Of what is seldom tried
    one must hear all there is.
    """
    if ROUTE not in held or state.trials[ROUTE].mean > 0:
        return state
    known = state.learner.points[ROUTE].lessons
    if state.trials[ROUTE].n < max(2 * config.gate_lessons, known / 2):
        return state
    return replace(
        state, trials={part: trial for part, trial in state.trials.items() if part != ROUTE}
    )


def _sureness(part: str, known: Collection[str], config: LearningConfig, *, trusted: bool) -> float:
    """Return how sure one must be: less so where the champion has left the prior already."""
    if part == SENSE:
        return config.sense_z
    if part == WITHIN:
        return UNSURE * _sureness(RANKER, known, config, trusted=trusted)
    if part != RANKER and not trusted:
        return config.blind_z
    if part in known:
        return config.renewal_z
    if part == RANKER:
        return config.ranker_z
    return config.route_z if part == ROUTE else config.gate_z


def _bounds(trial: Running, z: float, config: LearningConfig) -> tuple[float, float]:
    if config.gate_bound == "normal":
        return trial.bounds(z)
    return bernstein_bounds(trial, z, 2 * config.gate_limit)


def _doubled(before: Running, after: Running, config: LearningConfig) -> bool:
    """Tell whether to say again that nothing is promoted: each time with twice as many."""
    mark = config.gate_lessons
    while mark <= before.n:
        mark *= 2
    return after.n >= mark


def _merged(several: Iterable[Running]) -> Running:
    total = Running()
    for one in several:
        total = total.merged(one)
    return total


def _event(
    kind: EventKind,
    part: str,
    state: Learned,
    known: Running,
    bounds: tuple[float, float],
    reason: str,
) -> PolicyEvent:
    sure = all(math.isfinite(bound) for bound in bounds)
    return PolicyEvent(
        kind=kind,
        part=part,
        version=state.version,
        estimate=known.mean,
        lower=bounds[0] if sure else None,
        upper=bounds[1] if sure else None,
        lessons=known.n,
        reason=reason,
    )
