"""Takes a request apart: chooses a move, carries it out, until nothing more would help."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import structlog

from retrieval.decomposition.budget import Budget, Limits
from retrieval.decomposition.moves import SEARCHING, context_of, useful_moves
from retrieval.decomposition.policy import Move, choose
from retrieval.decomposition.state import Findings, NothingFoundError, State, Task
from retrieval.decomposition.steps import Steps
from retrieval.embedding import EmbedderUnavailableError
from retrieval.fusion import Scored
from retrieval.reasoning import Reasoned, Reasoner, unrefined
from retrieval.trajectory import Recorder
from storage import StoreUnavailableError

log = structlog.get_logger(__name__)

PASSING = (StoreUnavailableError, EmbedderUnavailableError)
"""With a part away standard search would fail as well: whoever asks tries again."""


class Decomposition:
    """Runs decompositions; gives the best found so far whatever ends them."""

    def __init__(
        self,
        steps: Steps,
        reasoner: Reasoner,
        monotonic: Callable[[], float],
        limits: Limits | None = None,
    ) -> None:
        self._steps = steps
        self._reasoner = reasoner
        self._monotonic = monotonic
        self._limits = limits or Limits()

    async def run(self, task: Task, recorder: Recorder) -> Findings:
        """Carry out a task within its budget; raise NothingFoundError if it has not begun to."""
        budget = Budget(task.deadline, self._monotonic, self._limits)
        state = State(task, unrefined(task.request.query), budget, context_of(task.request.query))
        scored: list[Scored] | None = None
        try:
            async with asyncio.timeout(budget.left_s):
                state.reasoned = await self._reason(state, recorder)
                state.task = _targeted(state.task, state.reasoned)
                scored = await self._carry_out(state, recorder)
        except TimeoutError:
            state.stop("time")
        except PASSING:
            if not state.searches:
                raise
            state.stop("unavailable")
        except Exception:
            log.exception("decomposition failed")
            state.stop("error")
        if scored is None:
            scored = self._best_so_far(state, recorder)
        is_degraded = state.reasoned.is_degraded or state.is_degraded
        return Findings(scored, state.searches[0].evidence, state.stopped_by, is_degraded)

    async def _reason(self, state: State, recorder: Recorder) -> Reasoned:
        task = state.task
        if not task.own.reasoning_enabled:
            return state.reasoned
        with recorder.step("Reason", {"query": task.request.query}) as step:
            reasoned = await self._reasoner.reason(
                task.request.tenant_id, task.request.query, task.at, task.own, state.budget.left_s
            )
            step.tokens = reasoned.tokens
            step.result_count = len(reasoned.meanings)
            step.params["trace"] = list(reasoned.trace)
        state.budget.tokens += reasoned.tokens
        return reasoned

    async def _carry_out(self, state: State, recorder: Recorder) -> list[Scored]:
        while True:
            legal = self._legal_moves(state)
            choice = choose(state.task.chooser, state.context, legal, state.so_far())
            recorder.chose(choice.chosen)
            if choice.move == "stop":
                return await self._steps.aggregate(state, recorder, choice)
            state.made.append(choice.move)
            await self._steps.take(state, recorder, choice)

    def _legal_moves(self, state: State) -> list[Move]:
        useful = useful_moves(state, self._steps.can_ask)
        if state.budget.affordable(1):
            return useful
        if SEARCHING & set(useful):
            state.stop("queries")
        return [move for move in useful if move not in SEARCHING]

    def _best_so_far(self, state: State, recorder: Recorder) -> list[Scored]:
        if not state.searches:
            raise NothingFoundError(state.stopped_by)
        with recorder.step("Aggregate", {"strategy": state.aggregation}) as step:
            scored = self._steps.unified(state)
            step.result_count = len(scored)
        return scored


def _targeted(task: Task, reasoned: Reasoned) -> Task:
    """Keep a targeted search to the layers that reasoning found, unless it names its own."""
    request = task.request
    if request.strategy != "targeted" or request.layers or not reasoned.layers:
        return task
    return replace(task, plan=replace(task.plan, layers=reasoned.layers))
