"""From a named entity to those below it: an org's teams, a team's projects."""

import asyncio
from collections.abc import Sequence
from typing import Final

from models import LAYER_PRECEDENCE
from models.actions import DrillDown
from models.memories import Layer
from retrieval.routing.signals import layers_in_plural
from storage import Filter, Related, Store, words

MOST_CHILDREN: Final = 8
"""So many of the children are searched one by one, those with the most memories."""


def drills(query: str) -> list[DrillDown]:
    """Return the ways down to what a query asks for in plural, the nearest parents first."""
    plural = layers_in_plural(query)
    if not plural:
        return []
    child = plural[0]
    above = LAYER_PRECEDENCE[LAYER_PRECEDENCE.index(child) + 1 :]
    return [
        DrillDown(from_layer=parent, to_layer=child, filter=query) for parent in (*above, child)
    ]


class Drill:
    """Carries out drill-downs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def down(
        self, tenant_id: str, ways: Sequence[DrillDown], among: Filter
    ) -> tuple[DrillDown, tuple[str, ...]]:
        """Return the best way down, and the children it leads to.

        That is the first whose parents or children are named, or else the first that leads
        anywhere.
        """
        found = await asyncio.gather(
            *(self._store.related(tenant_id, way.from_layer, way.to_layer, among) for way in ways)
        )
        led = [(way, related) for way, related in zip(ways, found, strict=True) if related]
        for way, related in led:
            if named := _named(way, related):
                return way, named
        for way, related in led:
            return way, _children(related)
        return ways[0], ()


def _named(way: DrillDown, related: Sequence[Related]) -> tuple[str, ...]:
    """Return the children that are named, or those of the parents that are."""
    said = f" {' '.join(words.terms(way.filter))} "
    parents = [one for one in related if _is_named(one.parent, said, way.from_layer)]
    children = [one for one in related if _is_named(one.child, said, way.to_layer)]
    return _children(children if len({one.child for one in children}) > 1 else parents)


def _is_named(entity: str, said: str, layer: Layer) -> bool:
    # "platform-engineering" and "Platform Engineering" are the same to who asks.
    spoken = " ".join(words.terms(entity.replace("_", " ").replace("-", " ")))
    return bool(spoken) and f" {spoken} " in said


def _children(related: Sequence[Related]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.child for one in related))[:MOST_CHILDREN]
