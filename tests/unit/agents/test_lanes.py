"""Two lanes, one contract: what is taken apart is answered like everything else."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from agents.decompose import SlowLane
from agents.guard import Guard
from agents.items import ItemsAgent
from agents.search import FastLane
from models import ContextAssembled, ContextUsage, Decision, SearchResult
from retrieval.ingest import Ingest
from retrieval.language.chat import ChatCompletions
from retrieval.search import Search
from tests.language_model import Behaviour, local_language_model
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from tests.unit.tokens import bearer, jwk, token, write_keys
from topics.auth import Tokens
from topics.jwks import KeyFile

SIMPLE = "cat"
COMPLEX = "compare the cat and the dog across all teams"
TEAMS = {"api": "the cat retries", "web": "the dog retries", "data": "a fish sleeps"}


def asked(query, request_id="r1", topic="memory.search.requests", headers=(), **fields):
    ids = {"request_id": request_id, "tenant_id": "acme", "session_id": "s"}
    return delivery({**ids, "query": query, **fields}, topic=topic, headers=headers)


class Lanes:
    """Both lanes, and what travels between them."""

    def __init__(self, published, outgoing, by_topic):
        self.published = published
        self._fast = {topic: FastLane(service, outgoing) for topic, service in by_topic.items()}
        self._slow = SlowLane(by_topic, outgoing)

    async def fast(self, *deliveries):
        for one in deliveries:
            await self._fast[one.topic]([one])

    async def slow(self):
        for topic, key, value, headers in self.published.on("internal.decompositions"):
            await self._slow(delivery(value, topic=topic, key=key, headers=headers.items()))

    async def slowly(self, one):
        await self._slow(one)

    def decisions(self):
        told = self.published.on("internal.decisions")
        return [Decision.model_validate_json(value) for _, _, value, _ in told]

    def answers(self, suffix, model):
        return [model.model_validate_json(value) for _, _, value, _ in self.published.on(suffix)]


@pytest.fixture
async def remembered(store, dead_letters):
    agent = ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)
    await agent(
        [
            delivery(
                {
                    "event_id": f"{tenant}-{team}",
                    "tenant_id": tenant,
                    "memory_id": f"{tenant}-{team}",
                    "content": content,
                    "layer": "team",
                    "entities": {"org": "platform", "team": team},
                }
            )
            for tenant in ("acme", "umbrella")
            for team, content in TEAMS.items()
        ]
    )


@pytest.fixture
def lanes_for(store, published, dead_letters, names):
    def build(language_model=None, guard=None):
        search = Search(store, WordEmbedder(), lambda: NOON)
        answering = answering_with(search, store, language_model)
        return Lanes(published, *services(answering, published, dead_letters, names, guard))

    return build


@pytest.mark.requirement("RT-1", "TJ-1", "TJ-3")
@pytest.mark.usefixtures("remembered")
async def test_what_is_simple_is_answered_at_once(lanes_for, published):
    lanes = lanes_for()
    await lanes.fast(asked(SIMPLE, threshold=0))
    assert published.on("internal.decompositions") == []
    [result] = lanes.answers("search.results", SearchResult)
    [decision] = lanes.decisions()
    assert (decision.route, decision.fallback, decision.succeeded) == ("standard", None, True)
    assert [action.kind for action in decision.actions] == ["Route", "SearchLayer"]
    assert decision.actions[1].result_count == decision.result_count == len(result.results) > 0
    assert {one.propensity for one in (*decision.actions, *decision.shown)} == {1.0}
    assert [one.memory_id for one in decision.shown] == [m.memory_id for m in result.results]
    assert decision.shown[0].features
    assert decision.actions[0].params["features"]["score"] == decision.complexity_score


@pytest.mark.requirement("RT-2", "RX-2", "TJ-1")
@pytest.mark.usefixtures("remembered")
async def test_what_is_complex_is_handed_over_as_it_came_and_answered_by_the_slow_lane(
    lanes_for, published
):
    lanes = lanes_for()
    request = asked(COMPLEX, headers=[("correlation-id", b"c")])
    await lanes.fast(request)
    assert published.on("search.results") == []
    [(_, key, value, headers)] = published.on("internal.decompositions")
    assert (key, value) == (request.key, request.value)
    assert headers["memstream-origin"] == b"memory.search.requests"
    await lanes.slow()
    [(_, _, value, sent)] = published.on("search.results")
    assert sent == {"correlation-id": b"c"}
    result = SearchResult.model_validate_json(value)
    assert {m.memory_id for m in result.results[:3]} == {"acme-api", "acme-web", "acme-data"}
    [decision] = lanes.decisions()
    assert decision.route == "rlm"
    kinds = [action.kind for action in decision.actions]
    assert kinds[:2] == ["Route", "Reason"]
    assert kinds[-1] == "Aggregate"
    assert "DrillDown" in kinds
    assert decision.tokens_used == 0


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


@pytest.mark.requirement("OB-1", "OB-2")
@pytest.mark.usefixtures("remembered")
async def test_routes_and_what_decompositions_take_are_counted(lanes_for):
    routes = {"standard": 1, "rlm": 2}
    counted = ("memory_rlm_complexity_score", "memory_rlm_execution_duration_ms")
    counted += ("memory_rlm_execution_depth", "memory_rlm_execution_tokens")

    def told():
        by_route = [sample("memory_rlm_routing_decision_total", decision=one) for one in routes]
        return [*by_route, *(sample(f"{name}_count") for name in counted)]

    before = told()
    lanes = lanes_for()
    await lanes.fast(asked(SIMPLE), asked(COMPLEX, "r2"), asked(COMPLEX, "r3"))
    await lanes.slow()
    rise = [after - was for after, was in zip(told(), before, strict=True)]
    assert rise == [*routes.values(), 3, 2, 2, 2]


@pytest.mark.requirement("SE-1", "RX-2")
@pytest.mark.usefixtures("remembered")
async def test_a_decomposition_never_leaves_its_tenant(lanes_for):
    lanes = lanes_for()
    await lanes.fast(asked(COMPLEX, limit=100, threshold=0))
    await lanes.slow()
    [result] = lanes.answers("search.results", SearchResult)
    assert {m.memory_id.split("-")[0] for m in result.results} == {"acme"}
    [decision] = lanes.decisions()
    [drill] = [action for action in decision.actions if action.kind == "DrillDown"]
    assert sorted(drill.params["children"]) == ["api", "data", "web"]


def shape(answer):
    """Keys and types, however deep."""
    if isinstance(answer, dict):
        return {key: shape(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [shape(value) for value in answer[:1]]
    return type(answer).__name__


@pytest.mark.requirement("TJ-2")
@pytest.mark.usefixtures("remembered")
@given(
    queries=st.tuples(
        st.sampled_from(["cat", "dog", "the fish sleeps"]),
        st.sampled_from([COMPLEX, "summarize the history of the cat across every team"]),
    ),
    behaviour=st.sampled_from(
        [None, "answer", "fail", "close", "not-json", "wrong-shape", "stream"]
    ),
    operation=st.sampled_from(["search", "recall"]),
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_shape_of_an_answer_tells_nothing(
    lanes_for, published, queries, behaviour, operation
):
    published.messages.clear()
    async with local_language_model(Behaviour(behaviour or "answer")) as server:
        model = ChatCompletions(server.url) if behaviour else None
        lanes = lanes_for(model)
        for query in queries:
            await lanes.fast(asked(query, request_id=query, operation=operation, threshold=0))
        await lanes.slow()
        if model:
            await model.close()
    simple, taken_apart = (json.loads(value) for _, _, value, _ in published.on("search.results"))
    assert shape(simple) == shape(taken_apart)
    for answer in (simple, taken_apart):
        assert answer["status"] == "ok"
        assert all(0 <= memory["score"] <= 1 for memory in answer["results"])
        text = json.dumps(answer).lower()
        assert not any(word in text for word in ("rlm", "route", "trajectory", "decompos"))


@pytest.mark.requirement("SE-10")
@pytest.mark.usefixtures("remembered")
async def test_delivered_twice_it_is_answered_twice_and_counted_once(lanes_for, store):
    lanes = lanes_for()
    await lanes.fast(asked(COMPLEX), asked(COMPLEX))
    await lanes.slow()
    first, second = lanes.answers("search.results", SearchResult)
    assert first == second
    one, other = lanes.decisions()
    assert (one.trajectory_id, one.seed) == (other.trajectory_id, other.seed)
    counts = await store.counts("acme", ["acme-api"])
    assert counts["acme-api"].reference_count == 1


@pytest.mark.requirement("RT-7", "RT-6")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("own", [{"rlm_enabled": False}, {"routing_threshold": 1.0}])
async def test_a_tenant_can_switch_it_off(lanes_for, store, published, own):
    await store.override("acme", own)
    lanes = lanes_for()
    await lanes.fast(asked(COMPLEX))
    assert published.on("internal.decompositions") == []
    [decision] = lanes.decisions()
    assert decision.route == "standard"


@pytest.mark.requirement("RT-7")
@pytest.mark.usefixtures("remembered")
async def test_what_waits_while_it_is_switched_off_is_not_taken_apart(lanes_for, store):
    await lanes_for().fast(asked(COMPLEX))
    await store.override("acme", {"rlm_enabled": False})
    lanes = lanes_for()
    await lanes.slow()
    [decision] = lanes.decisions()
    assert decision.route == "standard"


@pytest.mark.requirement("RT-3")
@pytest.mark.usefixtures("remembered")
async def test_time_spent_waiting_is_part_of_the_budget(lanes_for, store):
    await store.override("acme", {"latency_budget_ms": 0.001})
    lanes = lanes_for()
    await lanes.fast(asked(COMPLEX))
    await lanes.slow()
    [result] = lanes.answers("search.results", SearchResult)
    assert result.degraded
    assert result.results
    [decision] = lanes.decisions()
    assert (decision.route, decision.fallback) == ("rlm", "time")


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    "fields", [{"mode": "semantic"}, {"fusion": "rrf"}, {"strategy": "semantic-only"}]
)
async def test_who_asks_for_a_way_of_searching_gets_exactly_that(lanes_for, published, fields):
    await lanes_for().fast(asked(COMPLEX, **fields))
    assert published.on("internal.decompositions") == []


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("memstream-origin", b"memory.items"), ("memstream-handed-over-at", b"2026-11-16T12:00Z")],
        [("memstream-origin", b"memory.search.requests"), ("memstream-handed-over-at", b"noon")],
        [
            ("memstream-origin", b"memory.search.requests"),
            ("memstream-handed-over-at", b"2026-11-16T12:00"),
        ],
        [
            ("memstream-origin", b"memory.search.requests"),
            ("memstream-handed-over-at", b"2026-11-16T12:00Z"),
            ("memstream-written-at", b"yesterday"),
        ],
    ],
)
async def test_what_no_agent_handed_over_is_kept(lanes_for, published, headers):
    forged = asked(COMPLEX, topic="memory.internal.decompositions", headers=headers)
    await lanes_for().slowly(forged)
    assert published.on("search.results") == []
    assert len(published.on("dead-letters")) == 1


@pytest.mark.requirement("SE-17")
@pytest.mark.usefixtures("remembered")
async def test_the_slow_lane_checks_tokens_as_well(lanes_for, published, tmp_path):
    keys = write_keys(tmp_path / "keys.json", jwk("hs"))
    lanes = lanes_for(guard=Guard(Tokens(KeyFile(keys), lambda: NOON)))
    forged = [
        ("memstream-origin", b"memory.search.requests"),
        ("memstream-handed-over-at", NOON.isoformat().encode()),
    ]
    await lanes.slowly(asked(COMPLEX, topic="memory.internal.decompositions", headers=forged))
    [result] = lanes.answers("search.results", SearchResult)
    assert result.error.code == "unauthorized"
    await lanes.fast(asked(COMPLEX, "r2", headers=bearer(token("hs"))))
    await lanes.slow()
    assert lanes.answers("search.results", SearchResult)[-1].status == "ok"


@pytest.mark.requirement("TR-2")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("query", [SIMPLE, COMPLEX])
@pytest.mark.parametrize("topic", ["memory.search.requests", "memory.context.requests"])
async def test_a_search_has_its_place_by_when_it_was_asked_for(lanes_for, query, topic):
    lanes = lanes_for()
    earlier, later = NOON - timedelta(hours=3), NOON + timedelta(hours=3)
    await lanes.fast(replace(asked(query, "waited", topic), at=earlier))
    if topic == "memory.search.requests":
        told = {"requested_at": (NOON - timedelta(hours=4)).isoformat()}
        await lanes.fast(replace(asked(query, "told", topic, **told), at=earlier))
    # Nobody asks for what has begun already: somebody's clock is ahead.
    await lanes.fast(replace(asked(query, "ahead", topic), at=later))
    await lanes.slow()
    moments = {one.request_id: one.moment for one in lanes.decisions()}
    assert moments.pop("told", NOON - timedelta(hours=4)) == NOON - timedelta(hours=4)
    assert moments == {"waited": earlier, "ahead": NOON}
    assert {one.started_at for one in lanes.decisions()} == {NOON}


@pytest.mark.requirement("SE-1", "SE-17")
@pytest.mark.usefixtures("remembered")
async def test_what_is_made_of_another_tenants_memories_is_no_signal_of_it(
    lanes_for, published, tmp_path
):
    keys = write_keys(tmp_path / "keys.json", jwk("hs"))
    lanes = lanes_for(guard=Guard(Tokens(KeyFile(keys), lambda: NOON)))
    topic = "memory.context.requests"
    elevated = bearer(token(tenant="umbrella", roles=["cross_tenant_read"]))
    await lanes.fast(asked(SIMPLE, "theirs", topic, elevated))
    await lanes.fast(asked(SIMPLE, "ours", topic, bearer(token())))
    assert [one.status for one in lanes.answers("context.assembled", ContextAssembled)] == [
        *("ok", "ok")
    ]
    assert [one.request_id for one in lanes.answers("context.usage", ContextUsage)] == ["ours"]
    assert published.on("dead-letters") == []


@pytest.mark.requirement("RX-9")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("query", [SIMPLE, COMPLEX])
async def test_a_context_is_assembled_and_its_use_told(lanes_for, published, store, query):
    lanes = lanes_for()
    request = asked(query, topic="memory.context.requests", token_budget=9)
    await lanes.fast(request, request)
    await lanes.slow()
    answer, again = lanes.answers("context.assembled", ContextAssembled)
    assert answer == again
    assert 0 < answer.tokens <= 9
    assert answer.memory_ids
    assert all(memory_id.startswith("acme-") for memory_id in answer.memory_ids)
    used, repeated = lanes.answers("context.usage", ContextUsage)
    assert used == repeated
    assert (used.request_id, used.memory_ids) == (answer.request_id, answer.memory_ids)
    counts = await store.counts("acme", answer.memory_ids)
    assert {one.reference_count for one in counts.values()} == {1}
    assert {one.request_id for one in lanes.decisions()} == {"r1"}


@pytest.mark.requirement("RX-9")
@pytest.mark.usefixtures("remembered")
async def test_a_tenants_own_budget_counts_where_a_request_names_none(lanes_for, store):
    await store.override("acme", {"token_budget": 5})
    lanes = lanes_for()
    await lanes.fast(asked(SIMPLE, topic="memory.context.requests"))
    [answer] = lanes.answers("context.assembled", ContextAssembled)
    assert answer.tokens <= 5


async def test_nothing_known_is_an_empty_context_and_no_use(lanes_for, published):
    lanes = lanes_for()
    await lanes.fast(asked(SIMPLE, topic="memory.context.requests"))
    [answer] = lanes.answers("context.assembled", ContextAssembled)
    assert (answer.status, answer.context, answer.memory_ids, answer.tokens) == ("ok", "", (), 0)
    assert published.on("context.usage") == []
