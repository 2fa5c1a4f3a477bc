"""With which probability a place of the result is looked at."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np

from learning.arrays import Floats, Integers, read, written
from learning.config import LearningConfig
from learning.lessons import Experience, Placed

PLACES = 50
"""Further down all places are alike."""

SHOWN, USED = 0, 1
KEPT, SWAPPED = 0, 1
UPPER, LOWER = 0, 1

SWAP = 0.5
"""Two neighbours that were placed with less were swapped: the server does it now and then."""

STEEPEST = 0.3
"""No place is looked at less than this often when the one before it was."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Counts for each pair of neighbours: as ranked or swapped, upper and lower, shown and used.

    Only lists that the ranker ordered are counted, as only there are neighbours swapped.
    """

    counts: Floats = field(default_factory=lambda: np.zeros((PLACES, 2, 2, 2)))

    def after(self, seen: Sequence[tuple[Experience, float]]) -> Self:
        """Return the counts with those of more lists, each added or taken back by its weight."""
        found: dict[tuple[int, int], list[float]] = {}
        for experience, weight in seen:
            for upper, lower in _neighbours(experience.placed):
                pair = found.setdefault((upper.rank - 1, _order(upper, lower)), [0.0, 0.0, 0.0])
                pair[0] += weight
                pair[1] += weight * upper.used
                pair[2] += weight * lower.used
        counts = self.counts.copy()
        for where, (shown, above, below) in found.items():
            counts[where] += [[shown, above], [shown, below]]
        return type(self)(counts)

    def curve(self, config: LearningConfig) -> Floats:
        """Return the probability of being looked at for each place, the first one's being 1.

        Swapping puts the same memories at either place, so that the rates of use there tell how
        much less the lower one is looked at. Few uses leave it at one over the root of the rank.
        """
        shown, used = self.counts[..., SHOWN], self.counts[..., USED]
        rates = used / np.maximum(shown, 1.0)
        # What the fewer of kept and swapped allow to be known: their harmonic mean.
        lists = shown[..., UPPER]
        enough = 2 * lists.prod(1) / np.maximum(lists.sum(1), 1.0)
        upper, lower = (rates[:, :, place].mean(1) * enough for place in (UPPER, LOWER))
        rank = np.arange(1, PLACES + 1)
        usual = np.sqrt(rank / (rank + 1))
        weight = config.position_evidence
        ratios = np.clip((lower + weight * usual) / (upper + weight), STEEPEST, 1.0)
        ratios = np.maximum(ratios, np.minimum(self._flattest(), 1.0))
        curve = np.concatenate([[1.0], np.cumprod(ratios[:-1])])
        floored: Floats = np.maximum(curve, config.position_floor)
        return floored

    def rates(self, config: LearningConfig) -> Floats:
        """Return how often what is at each place is used, for whatever reason."""
        both = self.counts.sum(1)
        # A place is the upper of one pair and the lower of another: the last one only the latter.
        lower = np.concatenate([np.zeros((1, 2)), both[:-1, LOWER]])
        found = np.where((both[:, UPPER, SHOWN] > 0)[:, None], both[:, UPPER], lower)
        weight = config.place_lists
        rates: Floats = (found[:, USED] + weight * config.place_rate) / (found[:, SHOWN] + weight)
        return rates

    def _flattest(self) -> Floats:
        """Return what the rates of use of neighbours as ranked say at least.

        The lower one is no better than the upper one, so it is looked at at least as much less
        often as it is used less often: two standard errors below that the truth hardly is.
        """
        shown, used = self.counts[:, KEPT, :, SHOWN], self.counts[:, KEPT, :, USED]
        rates = used / np.maximum(shown, 1.0)
        some = np.maximum(used, 1.0)
        error = np.sqrt((1 / some).sum(1))
        ratio = rates[:, LOWER] / np.maximum(rates[:, UPPER], 1e-9)
        known = (used >= 10).all(1)
        bound: Floats = np.where(known, ratio * np.exp(-2 * error), 0.0)
        return bound

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return written(self.counts)

    @classmethod
    def load(cls, value: dict[str, Any]) -> Self:
        """Return what was dumped."""
        return cls(read(value))


def places_of(placed: Iterable[Placed]) -> Integers:
    """Return where in a curve the places of memories are."""
    return np.array([min(one.rank, PLACES) - 1 for one in placed], dtype=np.intp)


def _neighbours(placed: Sequence[Placed]) -> Iterator[tuple[Placed, Placed]]:
    for upper, lower in pairwise(placed):
        if lower.rank == upper.rank + 1 and upper.rank <= PLACES:
            yield upper, lower


def _order(upper: Placed, lower: Placed) -> int:
    return SWAPPED if upper.propensity < SWAP and lower.propensity < SWAP else KEPT
