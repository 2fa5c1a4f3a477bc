"""Now and then swaps two neighbours of a result: by that one learns how far down people look."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from retrieval.choosing import Chooser
from retrieval.fusion import Scored

SHARE: Final = 0.5
"""How much of a tenant's exploration goes into swaps; one costs next to nothing."""


def swapped(
    shown: Sequence[Scored], chooser: Chooser
) -> tuple[list[Scored], Sequence[float] | None]:
    """Return what is shown, and with which probability each memory got its place.

    Neighbours of different layers keep their order, which is not a matter of taste. The score
    belongs to the place, and stays.
    """
    pairs = [
        place
        for place, (first, second) in enumerate(pairwise(shown))
        if first.hit.layer == second.hit.layer and first.score >= second.score
    ]
    rate = chooser.policy.exploration * SHARE
    if not pairs or rate == 0:
        return list(shown), None
    chance = chooser.chance("swap")
    each = rate / len(pairs)
    ordered = list(shown)
    placed = [1 - each * ((place in pairs) + (place - 1 in pairs)) for place in range(len(shown))]
    if chance.random() < rate:
        place = chance.choice(pairs)
        first, second = shown[place], shown[place + 1]
        ordered[place] = second._replace(score=first.score)
        ordered[place + 1] = first._replace(score=second.score)
        placed[place] = placed[place + 1] = each
    return ordered, placed
