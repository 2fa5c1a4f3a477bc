"""The moves that search: for the question, below an entity, part by part, after the best hits."""

from dataclasses import replace
from typing import Final

from models.actions import SearchLayer
from models.texts import MAX_QUERY_CHARACTERS
from retrieval.decomposition.drilling import Drill, drills
from retrieval.decomposition.policy import Choice
from retrieval.decomposition.questions import sides, topic
from retrieval.decomposition.ranking import Ranking
from retrieval.decomposition.searching import Searching, whole
from retrieval.decomposition.state import Planned, State
from retrieval.search import visible
from retrieval.trajectory import Recorder
from storage import words
from storage.protocol import FADED_CONFIDENCE

TOPIC_BEST: Final = 60
"""Memories brought by each side for what the question is about."""
TOPIC_AROUND: Final = 20
"""For that, the neighbours of so many of each side are looked at, as in a standard search."""
FOLLOWED_BEST: Final = 30
"""Memories brought by each side for what a hit leads to."""


class Exploring:
    """Plans and makes the searches of each move."""

    def __init__(self, searching: Searching, ranking: Ranking, drill: Drill) -> None:
        self._searching = searching
        self._ranking = ranking
        self._drill = drill

    async def search(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Search for the question as it is, and as reasoning would put it."""
        query = state.task.request.query
        asked = [(query, query)]
        asked += zip(state.reasoned.meanings, state.reasoned.keywords, strict=True)
        actions: dict[tuple[tuple[str, ...], ...], SearchLayer] = {}
        for meaning, keyword in asked:
            said = (words.asked(meaning).terms, words.asked(keyword).terms)
            action = SearchLayer(query=meaning, words=None if keyword == meaning else keyword)
            actions.setdefault(said, action)
        question, *reworded = (whole(state.task, action) for action in actions.values())
        planned = [question, *(replace(one, is_reworded=True) for one in reworded)]
        await self._searching.make(state, recorder, choice, planned)

    async def drill_down(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Find the entities below those named, and keep to them from here on."""
        task = state.task
        ways = drills(task.request.query)
        with recorder.step(
            "DrillDown", choice.params(ways[0]), propensity=choice.propensity
        ) as step:
            state.budget.queries += len(ways)
            among = visible(task.request, task.plan.layers, FADED_CONFIDENCE, task.at)
            way, children = await self._drill.down(task.request.tenant_id, ways, among)
            step.params |= {**choice.params(way), "children": [*children]}
            step.result_count = len(children)
        if children:
            state.within = (way.to_layer, children)

    async def take_apart(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Search for each part by itself: an entity, a layer, a side, a question of the model's."""
        meaning, keyword = state.reasoned.meanings[0], state.reasoned.keywords[0]
        if state.within is not None:
            layer, names = state.within
            actions = {
                name: SearchLayer(query=meaning, words=keyword, within={layer: (name,)})
                for name in names
            }
        elif not state.reasoned.parts and (layers := state.several_layers()):
            actions = {
                layer: SearchLayer(layer=layer, query=meaning, words=keyword) for layer in layers
            }
        else:
            asked = state.reasoned.parts or sides(state.task.request.query)
            actions = {text: SearchLayer(query=text) for text in asked}
        planned = [whole(state.task, action, 1, name) for name, action in actions.items()]
        await self._searching.make(state, recorder, choice, planned)

    async def follow_up(self, state: State, recorder: Recorder, choice: Choice) -> None:
        """Search for what the best hits lead to, and for the topic of the question, all at once."""
        follows = self._ranking.worth_following(state)
        planned = [
            Planned(
                SearchLayer(
                    query=one.text[:MAX_QUERY_CHARACTERS],
                    words=" ".join(one.asked.terms),
                    follows=one.parent.memory_id,
                    within=state.narrowed(),
                ),
                *(one.asked, FOLLOWED_BEST, 0, 1),
                follow_up=one,
            )
            for one in follows
        ]
        query = state.task.request.query
        if (about := topic(query)) != query:
            action = SearchLayer(query=about, within=state.narrowed())
            asked = words.asked(about)
            planned = [
                Planned(action, asked, TOPIC_BEST, TOPIC_AROUND, 1, is_topic=True),
                *planned,
            ]
        await self._searching.make(state, recorder, choice, planned)
