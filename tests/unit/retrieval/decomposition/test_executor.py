"""Decompositions end to end, on a real store and a real server for the language model."""

import json
import time
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from models import InForce, Item, SearchRequest
from retrieval.answering import Answering
from retrieval.decomposition import Limits, open_decomposition
from retrieval.decomposition.sub_calls import SubCalls
from retrieval.ingest import Ingest
from retrieval.language import AnswerCache
from retrieval.language.chat import ChatCompletions
from retrieval.reasoning import Reasoner
from retrieval.routing import Router
from retrieval.search import Search
from storage import StoreUnavailableError
from storage.sqlite import SqliteStore
from tests.language_model import Behaviour, local_language_model
from tests.unit.agents.conftest import NOON, WordEmbedder

MEMORIES = {
    "api": ("team", "the api team retries failed calls", {"org": "platform", "team": "api"}),
    "web": (
        "team",
        "the web team shows a page for failed calls",
        {"org": "platform", "team": "web"},
    ),
    "ops": ("team", "the ops team restarts what failed", {"org": "infra", "team": "ops"}),
    "rule": ("org", "failed calls are logged everywhere", {"org": "platform"}),
    "old": ("project", "failed calls were ignored in the beginning", {}),
}
COMPARE = "compare how failed calls are handled across all platform teams"


@pytest.fixture
async def store(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    items = [
        Item(
            event_id=name,
            tenant_id="acme",
            memory_id=name,
            layer=layer,
            content=content,
            entities=entities,
            created_at=NOON - timedelta(days=400 if name == "old" else 1),
        )
        for name, (layer, content, entities) in MEMORIES.items()
    ]
    await Ingest(store, WordEmbedder()).store([(item, NOON) for item in items])
    yield store
    await store.close()


@pytest.fixture
async def server():
    async with local_language_model() as server:
        yield server


@pytest.fixture
async def model(server):
    model = ChatCompletions(server.url)
    yield model
    await model.close()


async def answered(store, query, *, model=None, limits=None, budget_s=20.0, **fields):
    """Answer on the route for what is complex, whatever the query."""
    service = InForce(latency_budget_ms=1000 * budget_s)
    search = Search(store, WordEmbedder(), lambda: NOON, service=service)
    reasoner = Reasoner(model, "root", AnswerCache(time.monotonic), time.monotonic, 1.0)
    sub_calls = SubCalls(model, "sub", 5.0) if model else None
    decomposition = open_decomposition(search, store, reasoner, sub_calls, limits=limits)
    answering = Answering(search, Router(), decomposition)
    ids = {"request_id": "r", "tenant_id": "acme", "session_id": "s", "threshold": 0}
    request = SearchRequest.model_validate({**ids, "query": query, **fields})
    routing = await answering.route(request)
    assert routing.route == "rlm"
    return await answering.answer(request, routing)


def kinds(answered):
    return [step.kind for step in answered.recorder.steps]


def steps(answered, kind):
    return [step for step in answered.recorder.steps if step.kind == kind]


def found(answered):
    """What came back, the best first: an answer has the most specific layer first."""
    best = sorted(answered.result.results, key=lambda memory: -memory.score)
    return [memory.memory_id for memory in best]


def fallbacks(reason):
    return REGISTRY.get_sample_value("memstream_fallbacks_total", {"reason": reason}) or 0


@pytest.mark.requirement("RT-2", "RX-1", "RX-2", "RX-6", "RX-7", "TJ-1")
async def test_a_comparison_across_teams_drills_down_and_sets_them_side_by_side(store):
    done = await answered(store, COMPARE)
    assert (done.fallback, done.result.degraded) == (None, False)
    [drill] = steps(done, "DrillDown")
    assert (drill.params["from"], drill.params["to"]) == ("org", "team")
    assert drill.params["children"] == ["api", "web"]
    within = [step.params["within"] for step in steps(done, "SearchLayer") if step.params["within"]]
    assert {"team": ["api"]} in within
    assert {"team": ["web"]} in within
    assert steps(done, "Aggregate")[0].params["strategy"] == "compare"
    assert set(found(done)[:2]) == {"api", "web"}
    for step in done.recorder.steps:
        assert step.duration_ms >= 0
        assert step.started_at == NOON
        assert step.tokens == 0
    decision = done.decision()
    assert (decision.tokens_used, decision.max_depth) == (0, 1)
    assert decision.result_count == len(found(done)) == 5


@pytest.mark.requirement("SE-5", "TJ-2")
async def test_similarity_is_to_the_query_whatever_a_memory_was_found_by(store):
    done = await answered(store, COMPARE, limit=100)
    alone = await Search(store, WordEmbedder(), lambda: NOON).answer(
        done.request.model_copy(update={"mode": "semantic", "threshold": 0.0})
    )
    expected = {memory.memory_id: memory.similarity for memory in alone.results}
    told = {memory.memory_id: memory.similarity for memory in done.result.results}
    assert told == expected


@pytest.mark.requirement("RX-1")
async def test_layers_that_are_set_side_by_side_are_searched_one_by_one(store):
    done = await answered(store, "compare what the project and the org say about failed calls")
    layers = {step.params["layer"]: step for step in steps(done, "SearchLayer")}
    assert {None, "project", "org"} <= layers.keys()
    assert layers["org"].result_count == 1
    assert set(found(done)[:2]) == {"rule", "old"}


@pytest.mark.requirement("RR-2")
async def test_a_targeted_search_keeps_to_the_layers_that_it_names(store):
    query = "summarize the history of failed calls in every team and org"
    done = await answered(store, query, strategy="targeted")
    assert {memory.layer for memory in done.result.results} == {"team", "org"}
    everywhere = await answered(store, query, strategy="exhaustive", layers=("team",))
    assert {memory.layer for memory in everywhere.result.results} == {"team", "org", "project"}


@pytest.mark.requirement("RX-5")
async def test_what_is_too_old_is_left_out_unless_there_is_nothing_else(store):
    query = "trace the evolution of failed calls since last quarter"
    done = await answered(store, query)
    [kept] = steps(done, "FilterByRecency")
    assert kept.params["max_age"] == "P184D"
    assert kept.result_count == 4
    assert "old" not in found(done)
    beginning = await answered(store, query, filters=None, layers=("project",))
    assert found(beginning) == ["old"]


@pytest.mark.requirement("RX-5")
async def test_the_least_relevant_go_when_there_are_many(store):
    done = await answered(store, COMPARE, limit=1)
    [kept] = steps(done, "FilterByRelevance")
    assert kept.params["min_score"] == pytest.approx(61 / 62)
    assert kept.result_count == 2
    assert len(found(done)) == 1


@pytest.mark.requirement("RX-6")
async def test_a_summary_says_nothing_twice(store):
    done = await answered(store, "summarize everything about failed calls across all teams")
    assert steps(done, "Aggregate")[0].params["strategy"] == "summarize"
    assert sorted(found(done)) == sorted(MEMORIES)


@pytest.mark.requirement("RX-3", "RX-4", "RT-3")
async def test_the_sub_model_is_asked_no_deeper_than_the_limit(store, server, model):
    reply = {"answer": "it retries", "memories": [1], "next": ["what does the web team do?"]}
    server.behave(Behaviour(text=json.dumps(reply)))
    before = fallbacks("depth")
    done = await answered(store, COMPARE, model=model)
    calls = steps(done, "RecursiveCall")
    assert [call.depth for call in calls] == [0, 1, 2, 3]
    assert [call.params.get("rejected") for call in calls] == [None, None, None, "depth"]
    assert [call.tokens > 0 for call in calls] == [True, True, True, False]
    assert server.by_model == {"root": 1, "sub": 3}
    assert all("Question:" in prompt.user for prompt in server.prompts if prompt.model == "sub")
    assert done.decision().tokens_used == sum(step.tokens for step in done.recorder.steps) > 0
    assert (done.fallback, done.result.degraded, bool(found(done))) == ("depth", True, True)
    assert fallbacks("depth") == before + 1


@pytest.mark.requirement("RX-3", "RX-6")
async def test_what_the_sub_model_finds_telling_comes_first(store, server, model):
    plan = {"parts": ["what does the ops team do?"]}
    server.behave(
        Behaviour(
            answers={"Question: what does the ops team do?": '{"memories": [1], "next": []}'},
            text=json.dumps(plan),
        )
    )
    done = await answered(store, "trace every cause, then all that happened", model=model)
    assert found(done)[0] == "ops"
    assert (done.fallback, done.result.degraded) == (None, False)


@pytest.mark.requirement("RR-1")
async def test_a_query_that_the_model_has_reworded_counts_as_much_as_the_question(
    store, server, model
):
    query = "trace every cause, then all that happened"
    plain = await answered(store, query, model=model)
    assert "rule" not in found(plain)[:2], found(plain)
    plan = {"semantic": ["failed calls are logged everywhere"], "keyword": ["logged everywhere"]}
    server.behave(Behaviour(text=json.dumps(plan)))
    asked = await answered(store, f"{query} lately", model=model)
    assert "rule" in found(asked)[:2]
    searched = [step.params["words"] for step in steps(asked, "SearchLayer")]
    assert "logged everywhere" in searched


@pytest.mark.requirement("RX-8", "RT-3")
async def test_beyond_the_budget_of_queries_the_best_so_far_come_back(store):
    before = fallbacks("queries")
    done = await answered(store, COMPARE, limits=Limits(queries=5))
    made = len(steps(done, "SearchLayer")) + 3 * len(steps(done, "DrillDown"))
    assert made == 5
    assert (done.fallback, done.result.degraded, bool(found(done))) == ("queries", True, True)
    assert fallbacks("queries") == before + 1


@pytest.mark.requirement("RT-3", "RR-3", "RR-7", "TJ-2")
@pytest.mark.parametrize("kind", ["stall", "drip", "fail", "close", "nonsense"])
async def test_whatever_the_model_does_results_come_back_in_time(store, server, model, kind):
    server.behave(Behaviour(kind, seconds=0.01 if kind == "drip" else 60))
    started = time.monotonic()
    done = await answered(store, COMPARE, model=model, budget_s=1.5)
    assert time.monotonic() - started < 1.5 * 1.1 + 0.5
    assert set(found(done)[:2]) == {"api", "web"}
    assert done.result.degraded
    assert done.decision().succeeded


@pytest.mark.requirement("RR-6")
async def test_reasoning_can_be_switched_off_altogether(store, server, model):
    await store.override("acme", {"reasoning_enabled": False})
    done = await answered(store, COMPARE, model=model)
    assert "Reason" not in kinds(done)
    assert server.by_model["root"] == 0


@pytest.mark.requirement("RR-1")
async def test_the_trace_of_reasoning_is_in_the_trajectory_and_nowhere_else(store):
    done = await answered(store, COMPARE)
    [reason] = steps(done, "Reason")
    assert reason.params["trace"]
    assert reason.params["trace"][0] not in done.result.model_dump_json()


class Breaking:
    """A store whose find breaks after so many times."""

    def __init__(self, store, times, error):
        self._store, self._left, self._error = store, times, error

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def find(self, *arguments):
        self._left -= 1
        if self._left < 0:
            raise self._error
        return await self._store.find(*arguments)


@pytest.mark.requirement("RT-3")
@pytest.mark.parametrize("error", [ZeroDivisionError(), StoreUnavailableError("away")])
async def test_a_failure_half_way_gives_the_best_so_far(store, error):
    done = await answered(Breaking(store, 2, error), COMPARE)
    assert done.fallback == ("error" if isinstance(error, ZeroDivisionError) else "unavailable")
    assert done.result.degraded
    assert found(done)
    assert done.decision().succeeded


@pytest.mark.requirement("RT-3")
async def test_a_failure_before_anything_was_found_gives_standard_search(store, monkeypatch):
    async def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("retrieval.decomposition.steps.Steps.take", broken)
    done = await answered(store, COMPARE)
    assert (done.fallback, done.result.degraded) == ("error", True)
    assert kinds(done)[-1] == "SearchLayer"
    assert len(found(done)) == 5


async def test_with_the_store_away_it_is_for_the_caller_to_wait(store):
    with pytest.raises(StoreUnavailableError):
        await answered(Breaking(store, 0, StoreUnavailableError("away")), COMPARE)


async def test_the_same_request_is_carried_out_the_same_way(store):
    first, second = [await answered(store, COMPARE) for _ in range(2)]
    assert found(first) == found(second)
    assert [step.params for step in first.recorder.steps] == [
        step.params for step in second.recorder.steps
    ]
    assert first.decision().seed == second.decision().seed
