"""Whether signals tell memories apart at all.

If what is used has nothing to do with what is shown, rewards cannot say which choice is better, and
what seems so is chance.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from learning.arrays import Floats
from learning.config import LearningConfig
from learning.lessons import Experience
from learning.listwise import rankable, table
from learning.positions import PLACES, places_of
from learning.running import Running

SENSE: Final = "sense of signals"
"""The trial of it."""


def sensed(experiences: Sequence[Experience], prior: Mapping[str, float]) -> list[float]:
    """Return for each list how much more was used of what the prior would have used.

    Both are compared with what else stood at the same place in these lists: what is used because
    it stands high tells nothing. Where use is blind to what is shown, the mean is exactly 0.
    """
    features = tuple(sorted(prior))
    lists = [one for one in experiences if rankable(one, features)]
    if not lists:
        return []
    weights = np.array([prior[name] for name in features])
    liked = np.concatenate([_chances(table(one, features) @ weights) for one in lists])
    used = np.array([float(memory.used) for one in lists for memory in one.placed])
    place = places_of(memory for one in lists for memory in one.placed)
    sizes = np.array([len(one.placed) for one in lists])
    there = np.maximum(np.bincount(place, minlength=PLACES), 1)
    more = [
        values - (np.bincount(place, values, PLACES) / there)[place] for values in (liked, used)
    ]
    found: list[float] = np.add.reduceat(more[0] * more[1], np.cumsum(sizes) - sizes).tolist()
    return found


def lists_seen(trials: Mapping[str, Running]) -> int:
    """Return how many lists were looked at for it."""
    return trials.get(SENSE, Running()).n


def tells(trials: Mapping[str, Running], config: LearningConfig) -> bool:
    """Tell whether signals were seen to have to do with what was shown."""
    return trials.get(SENSE, Running()).bounds(config.sense_z)[0] > 0


def blind(trials: Mapping[str, Running], config: LearningConfig) -> bool:
    """Tell whether so many lists were shown that it would have been seen."""
    return lists_seen(trials) >= config.sense_lists and not tells(trials, config)


def _chances(scores: Floats) -> Floats:
    """Return how likely a use is one of each, as the ranker thinks of uses."""
    odds = np.exp(scores - scores.max())
    chances: Floats = odds / odds.sum()
    return chances
