"""Puts a decomposition together from its parts."""

import time
from collections.abc import Callable

from retrieval.decomposition.asking import Asking
from retrieval.decomposition.budget import Limits
from retrieval.decomposition.drilling import Drill
from retrieval.decomposition.executor import Decomposition
from retrieval.decomposition.exploring import Exploring
from retrieval.decomposition.ranking import Ranking
from retrieval.decomposition.searching import Searching
from retrieval.decomposition.steps import Steps
from retrieval.decomposition.sub_calls import SubCalls
from retrieval.reasoning import Reasoner
from retrieval.search import Search
from storage import Store


def open_decomposition(
    search: Search,
    store: Store,
    reasoner: Reasoner,
    sub_calls: SubCalls | None = None,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    limits: Limits | None = None,
) -> Decomposition:
    """Return what takes requests apart, with a language model's help if there is one."""
    searching = Searching(search.finder)
    ranking = Ranking()
    asking = Asking(sub_calls, searching, ranking) if sub_calls else None
    steps = Steps(Exploring(searching, ranking, Drill(store)), ranking, asking)
    return Decomposition(steps, reasoner, monotonic, limits)
