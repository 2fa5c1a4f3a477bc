"""Whether a challenger is better than the champion, judged on lessons neither has learned from."""

from collections.abc import Mapping, Sequence

import numpy as np

from learning.advantages import Advantages
from learning.arrays import Floats, Integers
from learning.config import LearningConfig
from learning.evidence import RANKER, Evidence
from learning.lessons import Experience
from learning.listwise import Ranker, rankable, table
from learning.logged import Logged
from learning.positions import places_of
from learning.prior import WITHIN
from learning.sense import SENSE, sensed


def differences(
    learner: Evidence,
    champion: Evidence,
    seen: Mapping[str, Logged],
    experiences: Sequence[Experience],
    baseline: float,
    curve: Floats,
    rates: Floats,
    prior: Mapping[str, float],
    config: LearningConfig,
) -> dict[str, list[float]]:
    """Return for each part how much better the learner would have done, lesson by lesson."""
    found: dict[str, list[float]] = {}
    for point, logged in seen.items():
        known = learner.points.get(point)
        if known is not None:
            found[point] = chosen_better(
                known, champion.points.get(point, Advantages()), logged, baseline, config
            )
    if learner.ranker.lessons > 0:
        found[RANKER], found[WITHIN] = ranked_better(
            learner.ranker, champion.ranker, experiences, curve, rates, prior, config
        )
    found[SENSE] = sensed(experiences, prior)
    return found


def chosen_better(
    learner: Advantages,
    champion: Advantages,
    seen: Logged,
    baseline: float,
    config: LearningConfig,
) -> list[float]:
    """Return the doubly robust difference of both policies for each lesson.

    Where a weight is clipped, the probability that it stands for is clipped as much: what is left
    out counts as an average lesson, so that the model's hopes alone never promote anything.
    """
    challenger, hoped = _tables(learner, seen, baseline, config)
    serving, _ = _tables(champion, seen, baseline, config)
    one, two = seen.chances(challenger, 0.0), seen.chances(serving, 0.0)
    behaviour = seen.behaviour
    rows = np.arange(len(seen))
    limit = config.gate_limit
    mass = np.minimum(one, limit * behaviour) - np.minimum(two, limit * behaviour)
    weight = np.minimum(one[rows, seen.chosen] / seen.propensity, limit) - np.minimum(
        two[rows, seen.chosen] / seen.propensity, limit
    )
    model = np.where(seen.there, seen.x @ hoped.T, 0.0)
    model -= (seen.even * model).sum(1, keepdims=True)
    rest = seen.gain - baseline - model[rows, seen.chosen]
    better = (mass * model).sum(1) + weight * rest
    return _by_lesson(seen, better)


def ranked_better(
    learner: Ranker,
    champion: Ranker,
    experiences: Sequence[Experience],
    curve: Floats,
    rates: Floats,
    prior: Mapping[str, float],
    config: LearningConfig,
) -> tuple[list[float], list[float]]:
    """Return for each list how many more of the used would have been looked at, had it been ranked.

    A memory that was used where few look would be used the more often the higher it is placed. If
    that is wrong, and they look there as well, any other order would seem better. So it is also
    told how much better it is within places: for what was used more often than usual at its place.
    """
    features = tuple(sorted(prior))
    challenger = learner.about(features).weights(prior, config)
    serving = champion.about(features).weights(prior, config)
    lists = [
        one
        for one in experiences
        if any(memory.used for memory in one.placed) and rankable(one, features)
    ]
    if not lists:
        return [], []
    rows = np.concatenate([table(one, features) for one in lists])
    ranks = places_of(memory for one in lists for memory in one.placed)
    used = np.array([memory.used for one in lists for memory in one.placed], dtype=bool)
    sizes = np.array([len(one.placed) for one in lists])
    of = np.repeat(np.arange(len(lists)), sizes)
    limit = config.position_limit
    one, two = (
        np.minimum(_looked_at(rows @ weights, of, ranks, curve) / curve[ranks], limit)
        for weights in (challenger, serving)
    )
    starts = np.cumsum(sizes) - sizes
    found: list[float] = np.add.reduceat((one - two) * used, starts).tolist()
    within: list[float] = np.add.reduceat((one - two) * (used - rates[ranks]), starts).tolist()
    return found, within


def _looked_at(scores: Floats, of: Integers, ranks: Integers, curve: Floats) -> Floats:
    """Return how likely each is looked at, once the places of its list are given out by score."""
    order = np.lexsort((ranks, -scores, of))
    placed = np.empty(len(scores))
    placed[order] = curve[ranks[np.lexsort((ranks, of))]]
    return placed


def _tables(
    known: Advantages, seen: Logged, baseline: float, config: LearningConfig
) -> tuple[Floats, Floats]:
    """Return weights and advantages for the options and features that were seen."""
    if not known.options:
        nothing = np.zeros((len(seen.options), len(seen.features)))
        return nothing, nothing
    wide = known.over(seen.options, seen.features)
    advantage = wide.advantage(baseline, config)
    if (wide.options, wide.features) == (seen.options, seen.features):
        return wide.clamped(advantage, config), advantage
    rows = [wide.options.index(name) for name in seen.options]
    columns = [wide.features.index(name) for name in seen.features]
    here = advantage[np.ix_(rows, columns)]
    return wide.clamped(advantage, config)[np.ix_(rows, columns)], here


def _by_lesson(seen: Logged, better: Floats) -> list[float]:
    total: dict[int, float] = {}
    for lesson, one in zip(seen.lesson.tolist(), better.tolist(), strict=True):
        total[lesson] = total.get(lesson, 0.0) + one
    return list(total.values())
