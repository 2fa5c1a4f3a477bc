"""With AUTH=jwt: what a token does not allow is refused before anything is computed."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from agents.guard import Guard
from agents.items import ItemsAgent
from agents.search import FastLane
from models import LAYER_PRECEDENCE
from retrieval.ingest import Ingest
from retrieval.search import Search
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from tests.unit.tokens import bearer, jwk, token, write_keys
from topics.auth import Tokens
from topics.jwks import KeyFile


class Untouchable:
    """Stands in for what must not be reached."""

    def __getattr__(self, name):
        pytest.fail(f"{name} was used for a message that is refused")


def item(memory_id="m", tenant="acme", layer="user", **fields):
    named = {"event_id": f"e-{memory_id}", "tenant_id": tenant, "memory_id": memory_id}
    return named | {"layer": layer, "content": f"the cat of {layer}"} | fields


def asked(headers, **fields):
    request = {"request_id": "r1", "tenant_id": "acme", "session_id": "s", "query": "cat"} | fields
    return delivery(request, topic="memory.search.requests", headers=headers)


def refusals(code):
    return REGISTRY.get_sample_value("memstream_refusals_total", {"code": code}) or 0


@pytest.fixture
def guard(tmp_path):
    keys = write_keys(tmp_path / "keys.json", jwk("hs"), jwk("ed"))
    return Guard(Tokens(KeyFile(keys), lambda: NOON))


@pytest.fixture
def searching(store, published, dead_letters, names, guard):
    def build(answering=None):
        search = Search(store, WordEmbedder(), lambda: NOON)
        answering = answering or answering_with(search, store)
        outgoing, by_topic = services(answering, published, dead_letters, names, guard)
        return FastLane(by_topic["memory.search.requests"], outgoing)

    return build


@pytest.fixture
async def remembered(store, dead_letters):
    """Store a memory of each layer for two tenants."""
    agent = ItemsAgent(Ingest(store, WordEmbedder()), dead_letters)
    tenants = ("acme", "umbrella")
    await agent(
        [delivery(item(f"{t}-{la}", t, la)) for t in tenants for la in LAYER_PRECEDENCE],
    )


def found(published):
    (answer,) = published.results()
    assert answer["status"] == "ok"
    return {memory["memory_id"] for memory in answer["results"]}


REFUSED_REQUESTS = [
    ([], {}, "unauthorized"),
    ([("authorization", b"Bearer x")], {}, "unauthorized"),
    (bearer(token(exp=1)), {}, "unauthorized"),
    (bearer(token(version=1)), {}, "unauthorized"),
    (bearer(token(headers={"kid": "ed"})), {}, "unauthorized"),
    (bearer(token(layers=["user"])), {"layers": ["org"]}, "forbidden"),
    (bearer(token(layers=["user"])), {"layers": ["org"], "strategy": "exhaustive"}, "forbidden"),
    (bearer(token(layers=[])), {"operation": "get", "memory_ids": ["m"]}, "forbidden"),
]


async def refuse_request(agent, published, headers, fields, code):
    before = refusals(code)
    with capture_logs() as logs:
        await agent([asked([*headers, ("correlation-id", b"c")], **fields)])
    assert refusals(code) == before + 1
    (audit,) = [line for line in logs if line["event"] == "refused"]
    assert (audit["code"], audit["id"]) == (code, "r1")
    (answer,) = published.results()
    assert (answer["request_id"], answer["status"], answer["results"]) == ("r1", "error", [])
    assert answer["error"]["code"] == code
    ((_, _, value, kept),) = published.on("dead-letters")
    assert json.loads(value)["request_id"] == "r1"
    assert kept["memstream-error-code"] == code.encode()
    assert kept.get("authorization", b"redacted") == b"redacted"
    for _, sent in headers:
        secret = sent.removeprefix(b"Bearer ")
        if len(secret) > 1:
            assert secret not in repr((published.messages, logs)).encode()
    return audit


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(("headers", "fields", "code"), REFUSED_REQUESTS)
async def test_a_request_is_refused_before_anything_is_computed(
    searching, published, headers, fields, code
):
    await refuse_request(searching(Untouchable()), published, headers, fields, code)


@pytest.mark.requirement("SE-17", "SE-1")
@pytest.mark.parametrize("roles", [[], ["admin", "cross_tenant"]])
async def test_a_request_for_another_tenant_is_refused_before_anything_is_computed(
    searching, published, roles
):
    headers = bearer(token(roles=roles))
    audit = await refuse_request(
        searching(Untouchable()), published, headers, {"tenant_id": "umbrella"}, "forbidden"
    )
    assert (audit["who"], audit["tenant_id"]) == ("alice", "umbrella")


@pytest.mark.requirement("SE-17")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("kid", ["hs", "ed"])
async def test_with_a_good_token_a_request_is_answered(searching, published, kid):
    await searching()([asked(bearer(token(kid)), threshold=0)])
    assert found(published) == {f"acme-{layer}" for layer in LAYER_PRECEDENCE}
    assert published.on("dead-letters") == []


@pytest.mark.requirement("SE-17")
@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"layers": ["user", "org"]},
        {"strategy": "exhaustive"},
        {"strategy": "exhaustive", "mode": "keyword", "layers": ["org"]},
        {"strategy": "targeted", "query": "cat of the company"},
        {"strategy": "semantic-only"},
        {"operation": "recall"},
        {"operation": "get", "memory_ids": [f"acme-{layer}" for layer in LAYER_PRECEDENCE]},
    ],
)
async def test_nothing_outside_the_layers_of_the_token_is_found(searching, published, fields):
    headers = bearer(token(layers=["user", "org"]))
    await searching()([asked(headers, **{"threshold": 0} | fields)])
    assert found(published) == {"acme-user", "acme-org"}


@pytest.mark.requirement("SE-17", "SE-1")
@pytest.mark.usefixtures("remembered")
async def test_with_the_role_another_tenant_is_read_and_that_is_audited(searching, published):
    headers = bearer(token(roles=["cross_tenant_read"], layers=["user"]))
    with capture_logs() as logs:
        await searching()([asked(headers, tenant_id="umbrella", threshold=0)])
    assert found(published) == {"umbrella-user"}
    (audit,) = [line for line in logs if line["event"] == "cross-tenant read"]
    told = {name: audit[name] for name in ("who", "from", "to", "request_id")}
    assert told == {"who": "alice", "from": "acme", "to": "umbrella", "request_id": "r1"}
    with capture_logs() as logs:
        await searching()([asked(headers, request_id="r2")])
    assert logs == []


REFUSED_ITEMS = [
    ([], {}, "unauthorized"),
    (bearer(token(exp=1)), {}, "unauthorized"),
    (bearer(token(layers=["user"])), {"layer": "org"}, "forbidden"),
]


async def refuse_item(guard, dead_letters, published, headers, fields, code):
    before = refusals(code)
    with capture_logs() as logs:
        forged = delivery(item(**fields), headers=headers)
        await ItemsAgent(Untouchable(), dead_letters, guard)([forged])
    assert refusals(code) == before + 1
    assert [line["code"] for line in logs if line["event"] == "refused"] == [code]
    ((topic, _, value, kept),) = published.messages
    assert (topic, value) == ("memory.dead-letters", forged.value)
    assert kept["memstream-error-code"] == code.encode()
    assert kept.get("authorization", b"redacted") == b"redacted"


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(("headers", "fields", "code"), REFUSED_ITEMS)
async def test_an_item_that_is_not_allowed_is_kept_and_not_stored(
    guard, dead_letters, published, headers, fields, code
):
    await refuse_item(guard, dead_letters, published, headers, fields, code)


@pytest.mark.requirement("SE-17", "SE-1")
@pytest.mark.parametrize("roles", [[], ["cross_tenant_read"]])
@pytest.mark.parametrize("op", ["upsert", "delete"])
async def test_no_role_writes_or_deletes_for_another_tenant(
    guard, dead_letters, published, roles, op
):
    headers = bearer(token(roles=roles))
    fields = {"tenant": "umbrella", "op": op}
    await refuse_item(guard, dead_letters, published, headers, fields, "forbidden")


@pytest.mark.requirement("SE-17")
async def test_what_waited_needs_a_token_that_held_when_the_broker_took_it(
    guard, dead_letters, store, published
):
    """By the broker's clock only: a producer could say anything of when it sent something."""
    expired = bearer(token(exp=NOON.timestamp() - 3600, iat=NOON.timestamp() - 7200))
    waited = delivery(item("waited"), headers=expired)
    claimed = delivery(item("claimed"), headers=expired)
    an_hour_and_a_half_ago = NOON - timedelta(minutes=90)
    batch = [
        replace(waited, at=an_hour_and_a_half_ago, by_broker=True),
        replace(claimed, at=an_hour_and_a_half_ago),
        replace(delivery(item("late"), headers=expired), by_broker=True),
    ]
    await ItemsAgent(Ingest(store, WordEmbedder()), dead_letters, guard)(batch)
    assert list(await store.counts("acme", ["waited", "claimed", "late"])) == ["waited"]
    assert len(published.on("dead-letters")) == 2


@pytest.mark.requirement("SE-17")
async def test_of_a_batch_only_the_allowed_items_are_stored(guard, dead_letters, store, published):
    batch = [
        delivery(item("mine"), headers=bearer(token())),
        delivery(item("forged", "umbrella"), headers=bearer(token())),
        delivery(item("bare")),
    ]
    await ItemsAgent(Ingest(store, WordEmbedder()), dead_letters, guard)(batch)
    rows = store._database.execute("SELECT tenant_id, memory_id FROM memories").fetchall()
    assert rows == [("acme", "mine")]
    assert len(published.on("dead-letters")) == 2


@pytest.mark.requirement("SE-17")
async def test_a_token_is_not_kept_even_where_none_is_asked_for(dead_letters, published):
    headers = [("Authorization", b"Bearer secret")]
    await ItemsAgent(Untouchable(), dead_letters)([delivery(b"{", headers=headers)])
    ((_, _, _, kept),) = published.messages
    assert kept["Authorization"] == b"redacted"
