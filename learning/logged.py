"""The choices of one point in several lessons, side by side as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from learning.arrays import Floats, Integers, united
from learning.config import LearningConfig
from learning.lessons import Chosen, Experience, Lesson
from models.choices import MAX_LOGIT


@dataclass(frozen=True, slots=True)
class Logged:
    """One row for each choice, one column for each option; options that were not there are off."""

    options: tuple[str, ...]
    features: tuple[str, ...]
    there: npt.NDArray[np.bool_]
    base: Floats
    best: Integers
    """The option that is taken while nothing is learned."""
    x: Floats
    chosen: Integers
    propensity: Floats
    exploration: Floats
    lesson: Integers
    """Which lesson a row is of."""
    weight: Floats
    """1 to learn a row, −1 to take it back, 0 when only its return changes."""
    gain: Floats
    """The return to learn, less the one that was learned before."""
    behaviour: Floats
    """With which probability each option was chosen, as far as the log tells."""
    even: Floats
    """The probabilities of drawing blindly."""

    def __len__(self) -> int:
        return len(self.chosen)

    def chances(self, weights: Floats, exploration: Floats | float) -> Floats:
        """Return the probability of every option, as ``models.choices.probabilities`` does."""
        moved = np.where(self.there, self.x @ weights.T, 0.0)
        logits = np.where(self.there, self.base + moved, -np.inf)
        odds = np.exp(np.maximum(logits - logits.max(1, keepdims=True), -MAX_LOGIT))
        odds = np.where(self.there, odds, 0.0)
        soft = odds / odds.sum(1, keepdims=True)
        certain = np.arange(len(self.options)) == self.best[:, None]
        taken = np.where(moved.any(1, keepdims=True), soft, certain)
        rate = np.reshape(exploration, (-1, 1))
        chances: Floats = rate * self.even + (1 - rate) * taken
        return chances

    def only(self, rows: npt.NDArray[np.bool_]) -> "Logged":
        """Return some of the rows."""
        return Logged(
            options=self.options,
            features=self.features,
            there=self.there[rows],
            base=self.base[rows],
            best=self.best[rows],
            x=self.x[rows],
            chosen=self.chosen[rows],
            propensity=self.propensity[rows],
            exploration=self.exploration[rows],
            lesson=self.lesson[rows],
            weight=self.weight[rows],
            gain=self.gain[rows],
            behaviour=self.behaviour[rows],
            even=self.even[rows],
        )


def logged(lessons: Sequence[Lesson], config: LearningConfig) -> dict[str, Logged]:
    """Return the choices of each point, in the order of the points' names.

    A choice without an alternative teaches nothing, nor does a lesson that changes nothing.
    """
    rows: dict[str, list[tuple[int, Chosen, float, float]]] = {}
    for place, lesson in enumerate(lessons):
        now, before = lesson.experience, lesson.before
        learn, undo = now.trainable, before is not None and before.trainable
        weight = float(learn) - float(undo)
        for index, chosen in enumerate(now.chosen):
            if len(chosen.choice.options) < 2:
                continue
            gain = learn * _return(now, index, config)
            if before is not None and undo:
                gain -= _return(before, index, config)
            if weight or gain:
                rows.setdefault(chosen.choice.point, []).append((place, chosen, weight, gain))
    return {point: _side_by_side(rows[point]) for point in sorted(rows)}


def _return(experience: Experience, index: int, config: LearningConfig) -> float:
    left = len(experience.chosen) - 1 - index
    return float(experience.reward * config.discount**left)


def _side_by_side(rows: Sequence[tuple[int, Chosen, float, float]]) -> Logged:
    choices = [chosen.choice for _, chosen, _, _ in rows]
    options = united(*(choice.options for choice in choices))
    features = united(*(choice.features for choice in choices))
    column = {option: place for place, option in enumerate(options)}
    base = _columns([one.options for one in choices], options, np.nan)
    x = _columns([one.features for one in choices], features, 0.0)
    first = [column[max(one.options, key=one.options.__getitem__)] for one in choices]
    best = np.array(first, dtype=np.intp)
    there = ~np.isnan(base)
    chosen = np.array([column[one.option] for one in choices], dtype=np.intp)
    propensity = np.array([chosen.propensity for _, chosen, _, _ in rows])
    exploration = np.array([one.exploration for one in choices])
    return Logged(
        options=options,
        features=features,
        there=there,
        base=np.where(there, base, 0.0),
        best=best,
        x=x,
        chosen=chosen,
        propensity=propensity,
        exploration=exploration,
        lesson=np.array([place for place, _, _, _ in rows], dtype=np.intp),
        weight=np.array([weight for _, _, weight, _ in rows]),
        gain=np.array([gain for _, _, _, gain in rows]),
        behaviour=_behaviour(there, best, chosen, propensity, exploration),
        even=there / there.sum(1, keepdims=True),
    )


def _columns(rows: Sequence[Mapping[str, float]], names: Sequence[str], missing: float) -> Floats:
    """Return the values of each row in the order of names."""
    wanted = {*names}
    if len(names) > 1 and all(row.keys() >= wanted for row in rows):
        # Nearly always: it takes a third of the time.
        found = [*map(itemgetter(*names), rows)]
    else:
        found = [tuple(row.get(name, missing) for name in names) for row in rows]
    return np.array(found, dtype=np.float64).reshape(len(rows), len(names))


def _behaviour(
    there: npt.NDArray[np.bool_],
    best: Integers,
    chosen: Integers,
    propensity: Floats,
    exploration: Floats,
) -> Floats:
    """Return with which probability each option was chosen, as far as the log tells.

    The chosen one's is known. Of the rest, all but the best before learning are thought to have
    had what exploration gives them: exact with two options, and while nothing is learned.
    """
    rows, count = np.arange(len(chosen)), there.sum(1)
    rest = 1 - propensity
    even = rest / (count - 1)
    small = np.where(best == chosen, even, np.minimum(exploration / count, even))
    given = np.where(there, small[:, None], 0.0)
    given[rows, best] = rest - small * (count - 2)
    given[rows, chosen] = propensity
    return given
