"""Traces: one from a request to its answer and its trajectory, and no text of a tenant in it."""

import json

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agents.items import ItemsAgent
from agents.outcomes import DecisionsAgent
from agents.relay import Relay
from agents.tenant_labels import TenantLabels
from agents.training import TrainingAgent
from agents.usage import UsageAgent
from retrieval.ingest import Ingest
from retrieval.search import Search
from storage.joins import Decided, without_trace
from tests.integration.storage.aftermath import decision
from tests.integration.storage.school import REAL, searches
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from tests.unit.agents.test_lanes import COMPLEX, SIMPLE, TEAMS, Lanes, asked
from topics import encode
from topics.spans import Spans
from topics.traces import trace_by

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
SENT = [("Traceparent", PARENT.encode()), ("correlation-id", b"c")]


class Told:
    """What was told to a collector."""

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = Spans(self._provider.get_tracer("test"))

    def all(self):
        return self._exporter.get_finished_spans()

    def named(self, name):
        [found] = [span for span in self.all() if span.name == name]
        return found

    def names(self):
        return sorted({span.name for span in self.all()})

    def parent(self, span):
        [found] = [one for one in self.all() if one.context.span_id == span.parent.span_id]
        return found.name


@pytest.fixture
def told():
    told = Told()
    trace_by(told.tracer)
    yield told
    trace_by(None)


@pytest.fixture
async def lanes(store, published, dead_letters, names):
    agent = ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)
    for team, content in TEAMS.items():
        item = {"event_id": team, "tenant_id": "acme", "memory_id": team, "content": content}
        entities = {"org": "platform", "team": team}
        await agent([delivery({**item, "layer": "team", "entities": entities})])
    answering = answering_with(Search(store, WordEmbedder(), lambda: NOON), store)
    return Lanes(published, *services(answering, published, dead_letters, names))


@pytest.fixture
def join(store, outcomes, dead_letters, published):
    """Joins what was published with the use of a memory, and publishes what comes of it."""

    async def join(*headers):
        decided = [
            delivery(value, topic=topic, key=key, headers=[*sent.items()])
            for topic, key, value, sent in published.on("internal.decisions")
        ]
        await DecisionsAgent(outcomes, dead_letters)(decided)
        used = {"event_id": "u", "tenant_id": "acme", "session_id": "s", "request_id": "r1"}
        signal = delivery({**used, "memory_ids": ["api"]}, topic="memory.context.usage")
        await UsageAgent(store, outcomes, dead_letters)([signal])
        await Relay(outcomes, published, lambda: NOON).empty()
        [(_, _, value, headers)] = published.on("trajectories")
        assert "traceparent" not in json.loads(value)
        return headers

    return join


def place(traceparent):
    """The trace and the span that a header names."""
    version, trace_id, span_id, flags = traceparent.decode().split("-")
    assert (version, int(flags, 16) & 1) == ("00", 1)
    return trace_id, span_id


def ids(span):
    return trace.format_trace_id(span.context.trace_id), trace.format_span_id(span.context.span_id)


async def test_a_simple_search_is_one_trace_from_request_to_trajectory(
    lanes, told, published, join
):
    await lanes.fast(asked(SIMPLE, headers=SENT))
    processed = told.named("process memory.search.requests")
    assert trace.format_span_id(processed.parent.span_id) == SPAN
    assert processed.kind is trace.SpanKind.CONSUMER
    parents = {span.name: told.parent(span) for span in told.all() if span is not processed}
    assert parents == {
        "search": "process memory.search.requests",
        "Route": "search",
        "SearchLayer": "search",
        "send memory.search.results": "process memory.search.requests",
        "send memory.internal.decisions": "process memory.search.requests",
    }
    [(_, _, _, sent)] = published.on("search.results")
    assert sent.keys() == {"correlation-id", "traceparent"}
    assert place(sent["traceparent"]) == ids(told.named("send memory.search.results"))
    labelled = await join()
    label = told.named("label")
    assert told.parent(label) == "send memory.internal.decisions"
    assert place(labelled["traceparent"]) == ids(label)
    assert {ids(span)[0] for span in told.all() if not span.name.startswith("process")} == {TRACE}
    batch = told.named("process memory.internal.decisions")
    assert batch.parent is None
    assert [link.context.span_id for link in batch.links] == [label.parent.span_id]


async def test_a_search_that_is_taken_apart_stays_in_its_trace(lanes, told, published, join):
    await lanes.fast(asked(COMPLEX, headers=SENT))
    [(_, _, _, handed_over)] = published.on("internal.decompositions")
    assert [name for name in handed_over if name.lower() == "traceparent"] == ["traceparent"]
    await lanes.slow()
    slow = told.named("process memory.internal.decompositions")
    assert told.parent(slow) == "send memory.internal.decompositions"
    steps = [span for span in told.all() if "memstream.depth" in span.attributes]
    assert {"Reason", "SearchLayer", "Aggregate"} <= {span.name for span in steps}
    assert {told.parent(span) for span in steps} <= {"search", *(span.name for span in steps)}
    assert max(span.attributes["memstream.results"] for span in steps) > 0
    [(_, _, _, sent)] = published.on("search.results")
    assert place(sent["traceparent"]) == ids(told.named("send memory.search.results"))
    assert place((await join())["traceparent"]) == ids(told.named("label"))
    assert {ids(span)[0] for span in told.all() if span.name[:7] != "process"} == {TRACE}


@pytest.mark.requirement("TJ-2")
async def test_an_answer_carries_the_same_on_both_routes_and_spans_hold_no_text(
    lanes, told, published
):
    await lanes.fast(asked(SIMPLE, headers=SENT), asked(COMPLEX, "r2", headers=SENT))
    await lanes.slow()
    answers = published.on("search.results")
    assert len({tuple(sorted(sent)) for *_, sent in answers}) == 1
    for span in told.all():
        said = json.dumps([span.name, dict(span.attributes), span.status.description])
        assert not any(word in said for word in ("cat", "dog", "retries"))
        assert span.events == ()
    processed = told.named("process memory.internal.decompositions")
    assert processed.attributes["memstream.tenant_id"] == "acme"
    assert processed.attributes["memstream.request_id"] == "r2"


async def test_a_request_without_a_trace_begins_one(lanes, told, published):
    await lanes.fast(asked(SIMPLE), asked(SIMPLE, "r2", headers=[("traceparent", b"nonsense")]))
    first, second = (place(sent["traceparent"])[0] for *_, sent in published.on("search.results"))
    assert len({first, second, TRACE}) == 3


async def test_what_is_not_sampled_keeps_its_trace(lanes, told, published):
    unsampled = f"00-{TRACE}-{SPAN}-00".encode()
    await lanes.fast(asked(SIMPLE, headers=[("traceparent", unsampled)]))
    [(_, _, _, sent)] = published.on("search.results")
    assert sent["traceparent"].startswith(f"00-{TRACE}-".encode())
    assert sent["traceparent"].endswith(b"-00")
    assert told.all() == ()


async def test_a_step_that_fails_says_with_what_but_not_its_message(told):
    with pytest.raises(ValueError, match="cat"), told.tracer.span("broken", "internal", {}):
        raise ValueError("the cat")
    broken = told.named("broken")
    assert broken.status.status_code is trace.StatusCode.ERROR
    assert broken.status.description == "ValueError"
    assert broken.events == ()


async def test_training_is_traced_by_tenant_and_linked_to_what_it_learns_from(
    store, dead_letters, told, outcomes
):
    agent = TrainingAgent(
        store.policies, REAL, dead_letters, outcomes.news, TenantLabels(1), lambda: NOON
    )
    await agent(
        [
            delivery(
                one.model_dump_json().encode(),
                topic="memory.trajectories",
                key=b"acme",
                headers=SENT,
            )
            for one in searches(20)
        ]
    )
    train = told.named("train")
    assert told.parent(train) == "process memory.trajectories"
    assert train.attributes["memstream.tenant_id"] == "acme"
    assert (train.attributes["memstream.trajectories"], train.attributes["memstream.steps"]) == (
        *(20, 1),
    )
    [link] = told.named("process memory.trajectories").links
    assert trace.format_trace_id(link.context.trace_id) == TRACE


@pytest.mark.parametrize("traceparent", [PARENT, "00-aa-bb-01", 'not "one"'])
async def test_without_tracing_it_is_passed_on_as_it_came(lanes, published, join, traceparent):
    headers = [("traceparent", traceparent.encode())]
    await lanes.fast(asked(SIMPLE, headers=headers))
    [(_, _, _, sent)] = published.on("search.results")
    assert sent == dict(headers)
    assert await join() == dict(headers)


@pytest.mark.parametrize("traceparent", [b"", b"\x00" * 100, b"x" * 257, "ü".encode(), b"\xff"])
async def test_what_cannot_be_a_trace_is_not_kept_with_a_search(
    lanes, published, join, traceparent
):
    await lanes.fast(asked(SIMPLE, headers=[("traceparent", traceparent)]))
    assert await join() == {}


@pytest.mark.parametrize("traceparent", [None, PARENT, 'a "b" \\ {c},'])
def test_a_trace_is_stored_with_the_course_and_taken_off_it(traceparent):
    search = decision("r")
    plain = Decided(search, NOON, NOON, NOON).course()
    stored = Decided(search, NOON, NOON, NOON, traceparent).course()
    assert without_trace(stored) == (traceparent, plain)


@pytest.mark.parametrize("query", ['"},"succeeded":true,"seed":1', "ü \\ 東京", "plain"])
@pytest.mark.parametrize("asked_at", [None, NOON])
def test_a_course_is_taken_from_the_message_as_it_was_written(query, asked_at):
    search = decision("r").model_copy(update={"query": query, "asked_at": asked_at})
    plain = Decided(search, NOON, NOON, NOON).course()
    written = Decided(search, NOON, NOON, NOON, None, encode(search))
    assert written._course_as_written() == written.course() == plain
    # What somebody else has written in another order, or with spaces, is written anew.
    other = json.dumps(json.loads(encode(search)), sort_keys=True).encode()
    assert Decided(search, NOON, NOON, NOON, None, other).course() == plain
