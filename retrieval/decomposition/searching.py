"""Carries out the searches of a decomposition, as many at once as its budget allows."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from models.actions import SearchLayer
from retrieval.decomposition.policy import Choice
from retrieval.decomposition.state import Planned, Searched, State, Task
from retrieval.finding import Finder, Wanted
from retrieval.search import visible
from retrieval.trajectory import Recorder
from storage import words
from storage.protocol import FADED_CONFIDENCE

AT_ONCE: Final = 2
"""So many decompositions search at a time: those that wait for a language model are not limited,
but searches cost time of the processor, and simple requests want some of it."""


class Searching:
    """Makes searches and keeps what they bring."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def make(
        self, state: State, recorder: Recorder, choice: Choice, planned: Sequence[Planned]
    ) -> list[Searched]:
        """Make searches side by side; those beyond the budget are left out, and end it."""
        affordable = state.budget.affordable(len(planned))
        if affordable < len(planned):
            state.stop("queries")
        chosen = planned[:affordable]
        if not chosen:
            return []
        state.budget.queries += len(chosen)
        steps = [
            recorder.begin(
                "SearchLayer",
                choice.params(one.action),
                depth=one.depth,
                propensity=choice.propensity,
            )
            for one in chosen
        ]
        async with self._turns:
            # From here on, so that a step's duration is what it took and not what it waited.
            with recorder.lasting(steps):
                found = await self._finder.find(
                    state.task.request.tenant_id, [_wanted(state.task, one) for one in chosen]
                )
                for step, evidence in zip(steps, found, strict=True):
                    step.result_count = len(evidence.hits)
        searched = [
            Searched(**vars(one), evidence=evidence)
            for one, evidence in zip(chosen, found, strict=True)
        ]
        state.searches += searched
        return searched


def whole(task: Task, action: SearchLayer, depth: int = 0, group: str | None = None) -> Planned:
    """Plan a search that brings as much as a standard one."""
    asked = words.asked(action.query if action.words is None else action.words)
    return Planned(action, asked, task.plan.best, task.plan.around, depth, group)


def _wanted(task: Task, planned: Planned) -> Wanted:
    layer = planned.action.layer
    layers = task.plan.layers if layer is None else (layer,)
    among = visible(task.request, layers, FADED_CONFIDENCE, task.at)
    return Wanted(
        meaning=planned.action.query,
        words=planned.words,
        among=replace(among, entities=planned.action.within),
        best=planned.best,
        around=planned.around,
    )
