"""Asks the sub-model, as deep as the budget allows."""

import asyncio
from collections.abc import Sequence

import structlog

from models.actions import RecursiveCall, SearchLayer
from retrieval.decomposition.budget import BudgetError
from retrieval.decomposition.policy import Choice
from retrieval.decomposition.ranking import Ranking
from retrieval.decomposition.searching import Searching, whole
from retrieval.decomposition.state import State
from retrieval.decomposition.sub_calls import SubAnswer, SubCalls
from retrieval.fusion import Scored
from retrieval.language import LanguageModelError
from retrieval.metrics import DEGRADATIONS
from retrieval.trajectory import Recorder, Step

log = structlog.get_logger(__name__)


class Asking:
    """Searches for a part of a question, asks the model about it, and goes on with what it asks."""

    def __init__(self, sub_calls: SubCalls, searching: Searching, ranking: Ranking) -> None:
        self._sub_calls = sub_calls
        self._searching = searching
        self._ranking = ranking

    async def ask(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Ask about every part of the question, or about it as a whole."""
        questions = state.reasoned.parts or (state.task.request.query,)
        await self._all(state, recorder, choice, questions, 0)

    async def condense(self, state: State, ranked: Sequence[Scored], step: Step) -> Sequence[str]:
        """Return the memories that say the most, none if the model does not say."""
        try:
            state.budget.check_call(0)
            answer = await self._sub_calls.condense(
                state.task.request.query, [one.hit for one in ranked], state.budget.left_s
            )
        except (LanguageModelError, BudgetError) as error:
            _failed(state, step, error)
            return ()
        _spend(state, step, answer)
        return answer.memory_ids

    async def _all(
        self,
        state: State,
        recorder: Recorder,
        choice: Choice,
        questions: Sequence[str],
        depth: int,
    ) -> None:
        await asyncio.gather(
            *(self._one(state, recorder, choice, question, depth) for question in questions)
        )

    async def _one(
        self, state: State, recorder: Recorder, choice: Choice, question: str, depth: int
    ) -> None:
        action = RecursiveCall(sub_query=question)
        params = choice.params(action)
        with recorder.step(action.kind, params, depth=depth, propensity=choice.propensity) as step:
            try:
                state.budget.check_call(depth)
                look = SearchLayer(query=question, within=state.narrowed())
                search = whole(state.task, look, depth)
                searched = await self._searching.make(state, recorder, choice, [search])
                hits = [hit for one in searched for hit in self._ranking.best_of(one, state.task)]
                answer = await self._sub_calls.answer(question, hits, state.budget.left_s)
            except BudgetError as error:
                step.params["rejected"] = str(error)
                state.stop(str(error))
                return
            except LanguageModelError as error:
                _failed(state, step, error)
                return
            _spend(state, step, answer)
            step.result_count = len(answer.memory_ids)
            state.cited += answer.memory_ids
        await self._all(state, recorder, choice, answer.next, depth + 1)


def _spend(state: State, step: Step, answer: SubAnswer) -> None:
    step.tokens = answer.tokens
    state.budget.tokens += answer.tokens


def _failed(state: State, step: Step, error: LanguageModelError | BudgetError) -> None:
    step.params["failed"] = type(error).__name__
    step.tokens = getattr(error, "tokens", 0)
    state.budget.tokens += step.tokens
    state.is_degraded = True
    DEGRADATIONS.labels(part="sub-call").inc()
    log.warning("the sub-model did not help", reason=getattr(error, "outcome", str(error)))
    # What an endpoint answers may repeat what it was asked.
    log.debug("what the language model says", reason=str(error))
