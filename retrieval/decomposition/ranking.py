"""The order of everything found so far, and what of it is worth following."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retrieval.decomposition.candidates import OWN, Candidates, candidates
from retrieval.decomposition.chaining import PRIOR, chained
from retrieval.decomposition.follow_ups import FollowUp, follow_ups
from retrieval.decomposition.links import LINKS
from retrieval.decomposition.state import Searched, State, Task
from retrieval.fusion import Scored, Weighed, by_place, by_recipe, in_order, log_freshness
from retrieval.ranking import Column, first_and_ties, rank
from storage import Hit

FOLLOWED: Final = 4
"""So many of the best memories are followed."""
LEAST_ODDS: Final = -6.0
"""A path ends at a memory that is this far behind the best one."""
ASKED_ABOUT: Final = 10
"""A sub-model is asked about so many of the best memories."""

_NAMES: Final = (*OWN, *(f"link: {name}" for name in LINKS))


class Ranking:
    """Ranks by a tenant's weights of the standard recipe, and by those of paths."""

    def __init__(self, of_paths: Mapping[str, float] = PRIOR) -> None:
        self._of_paths = of_paths

    def ranked(self, state: State) -> list[Scored]:
        """Return everything found so far, the best first."""
        if state.ranked is None or state.ranked[0] != len(state.searches):
            state.ranked = (len(state.searches), self._ranked(state))
        return state.ranked[1]

    def _ranked(self, state: State) -> list[Scored]:
        if not state.searches[0].evidence.hits:
            return by_place(self._of_any(state.searches, state.task))
        found = self.candidates(state)
        odds, path = chained(found, self._of_paths)
        for place, hit in enumerate(found.hits):
            if hit.source_path is not None:
                odds[place] += log_freshness(hit.source_path, state.task.at)
        # Only what may be shown is worth telling what was known of it.
        rows = np.concatenate([found.own, found.paths[np.arange(len(path)), path]], axis=1)
        return by_place(
            in_order(
                Scored(hit, float(odds[place]), Weighed(_NAMES, rows[place]))
                for place, hit in enumerate(found.hits)
            )
        )

    def candidates(self, state: State) -> Candidates:
        """Return everything found so far, with what is known of it."""
        first, *others = state.searches
        return candidates(
            first.asking,
            _odds(first, state.task),
            next((one.asking for one in others if one.is_topic), None),
            [(one.follow_up, one.evidence) for one in others if one.follow_up],
            [one.evidence for one in others if not (one.is_topic or one.follow_up)],
        )

    def worth_following(self, state: State) -> Sequence[FollowUp]:
        """Return what to ask after the best memories; a path that is too weak ends there."""
        first = state.searches[0]
        if not first.evidence.hits:
            return []
        odds = _odds(first, state.task)
        best = in_order(
            Scored(first.evidence.hits[place], float(odds[place]))
            for place in first_and_ties(odds, 2 * FOLLOWED)
        )
        return follow_ups(state.task.request.query, best, FOLLOWED, LEAST_ODDS)

    def best_of(self, one: Searched, task: Task) -> list[Hit]:
        """Return the best of one search."""
        return [scored.hit for scored in _of(one, task)[:ASKED_ABOUT]]

    def first_of(self, one: Searched, task: Task) -> list[str]:
        """Return the ids of as many of one search as are asked for."""
        return [scored.hit.memory_id for scored in _of(one, task)[: task.request.limit]]

    def _of_any(self, searches: Sequence[Searched], task: Task) -> list[Scored]:
        """Return what searches found of which none was the first, each hit by its best place."""
        best: dict[str, Scored] = {}
        for one in searches:
            for scored in _of(one, task):
                known = best.setdefault(scored.hit.memory_id, scored)
                if scored.score > known.score:
                    best[scored.hit.memory_id] = scored
        return in_order(best.values())


def _odds(one: Searched, task: Task) -> Column:
    return rank(one.asking.rows, task.chooser.policy.weights)


def _of(one: Searched, task: Task) -> list[Scored]:
    weights = task.chooser.policy.weights
    return by_recipe(one.evidence, one.action.query, one.best, weights, task.at)
