"""Carries out the moves of a decomposition, and makes one result of what they found."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from models.actions import Aggregate, FilterByRecency, FilterByRelevance
from retrieval.decomposition.aggregation import combined, compared, summarized
from retrieval.decomposition.asking import Asking
from retrieval.decomposition.exploring import Exploring
from retrieval.decomposition.policy import Choice, Move
from retrieval.decomposition.ranking import Ranking
from retrieval.decomposition.state import State
from retrieval.fusion import RANK_OFFSET, Scored
from retrieval.trajectory import Recorder

Make = Callable[[State, Recorder, Choice], Awaitable[None]]


class Steps:
    """Knows how each move is made."""

    def __init__(self, exploring: Exploring, ranking: Ranking, asking: Asking | None) -> None:
        self._ranking = ranking
        self._asking = asking
        self._moves: Mapping[Move, Make] = {
            "search": exploring.search,
            "drill down": exploring.drill_down,
            "take apart": exploring.take_apart,
            "follow up": exploring.follow_up,
            "keep recent": self._keep_recent,
            "keep relevant": self._keep_relevant,
            **({"ask": asking.ask} if asking else {}),
        }

    @property
    def can_ask(self) -> bool:
        """Whether there is a language model."""
        return self._asking is not None

    async def take(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Make a move; what it brings is in the state then."""
        await self._moves[choice.move](state, recorder, choice)

    async def aggregate(self, state: State, recorder: Recorder, choice: Choice) -> list[Scored]:
        """Return one result set of everything found."""
        action = Aggregate(strategy=state.aggregation)
        params = choice.params(action)
        with recorder.step(action.kind, params, propensity=choice.propensity) as step:
            if action.strategy == "summarize" and self._asking is not None:
                best = state.recent(self._ranking.ranked(state))
                state.cited += await self._asking.condense(state, best, step)
            found = self.unified(state)
            step.result_count = len(found)
        return found

    def unified(self, state: State) -> list[Scored]:
        """Return one result set of what was found so far, in the way the question wants it."""
        everything = state.recent(self._ranking.ranked(state))
        ranked = state.relevant(everything)
        parts, reworded = self._parts(state, everything)
        if state.aggregation == "compare":
            return compared(parts, combined(ranked, state.cited, reworded))
        if state.aggregation == "summarize":
            return combined(summarized(combined(ranked, (), [*parts, *reworded])), state.cited)
        return combined(ranked, state.cited, [*parts, *reworded])

    async def _keep_recent(self, state: State, recorder: Recorder, choice: Choice) -> None:
        if state.reasoned.max_age is None:
            return
        action = FilterByRecency(max_age=state.reasoned.max_age)
        params = choice.params(action)
        with recorder.step(action.kind, params, propensity=choice.propensity) as step:
            state.max_age = action.max_age
            step.result_count = len(state.recent(self._ranking.ranked(state)))
            if not step.result_count:
                # Nothing of that time: what is older is better than nothing.
                state.max_age = None

    async def _keep_relevant(self, state: State, recorder: Recorder, choice: Choice) -> None:
        limit = state.task.request.limit
        action = FilterByRelevance(min_score=(RANK_OFFSET + 1) / (RANK_OFFSET + 2 * limit))
        params = choice.params(action)
        with recorder.step(action.kind, params, propensity=choice.propensity) as step:
            state.min_score = action.min_score
            step.result_count = len(state.relevant(self._ranking.ranked(state)))

    def _parts(
        self, state: State, ranked: Sequence[Scored]
    ) -> tuple[list[list[Scored]], list[list[Scored]]]:
        """Return the best of each part that was searched by itself, and of each rewording."""
        known = {one.hit.memory_id: one for one in ranked}
        parts: dict[str, dict[str, Scored]] = {}
        reworded: list[list[Scored]] = []
        for one in state.searches:
            if one.group is None and not one.is_reworded:
                continue
            first = self._ranking.first_of(one, state.task)
            found = {memory_id: known[memory_id] for memory_id in first if memory_id in known}
            if one.group is None:
                reworded.append([*found.values()])
            else:
                parts.setdefault(one.group, {}).update(found)
        return [[*members.values()] for members in parts.values()], reworded
