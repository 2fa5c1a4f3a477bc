"""One ranked result set of everything a decomposition found."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from retrieval.fusion import RANK_OFFSET, Scored, by_place
from storage import words

CONDENSED_FROM: Final = 50
"""Of so many of the best, those are chosen first that say something new."""

WEIGHT_OF_NEWS: Final = 0.3
"""How much it counts that a memory says something new, against how relevant it is."""


def combined(
    ranked: Sequence[Scored], cited: Sequence[str] = (), parts: Sequence[Sequence[Scored]] = ()
) -> list[Scored]:
    """Return everything once: what a model found telling first, the rest by its places.

    Parts of the question that were searched by themselves count as much as the question.
    """
    everything = [*ranked, *(one for part in parts for one in part)]
    once = list({one.hit.memory_id: one for one in everything}.values())
    if parts:
        places: dict[str, float] = {}
        for side in (once, *parts):
            for place, one in enumerate(side, start=1):
                so_far = places.get(one.hit.memory_id, 0.0)
                places[one.hit.memory_id] = so_far + 1 / (RANK_OFFSET + place)
        once.sort(key=lambda one: -places[one.hit.memory_id])
    named = set(cited)
    return by_place(
        [
            *(one for one in once if one.hit.memory_id in named),
            *(one for one in once if one.hit.memory_id not in named),
        ]
    )


def compared(sides: Sequence[Sequence[Scored]], ranked: Sequence[Scored]) -> list[Scored]:
    """Return the best of each side in turn, then whatever belongs to none."""
    turns = [one for turn in zip_longest(*sides) for one in turn if one is not None]
    return combined([*turns, *ranked])


def summarized(ranked: Sequence[Scored]) -> list[Scored]:
    """Return first what is relevant and says something new: a summary made of its sources."""
    waiting = [(one, frozenset(words.terms(one.hit.content))) for one in ranked[:CONDENSED_FROM]]
    known: set[str] = set()
    chosen: list[Scored] = []
    while waiting:
        best = max(
            range(len(waiting)),
            key=lambda place: (_worth(*waiting[place], known), -place),
        )
        one, said = waiting.pop(best)
        chosen.append(one)
        known |= said
    return by_place([*chosen, *ranked[CONDENSED_FROM:]])


def _worth(one: Scored, said: frozenset[str], known: set[str]) -> float:
    news = len(said - known) / max(len(said), 1)
    return (1 - WEIGHT_OF_NEWS) * one.score + WEIGHT_OF_NEWS * news
