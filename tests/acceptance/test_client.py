"""The client for Python services against a running service that asks for tokens."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest
from memstream_client import (
    ForbiddenError,
    InvalidRequestError,
    MemstreamClient,
    RequestError,
    UnauthorizedError,
)

from tests.acceptance.service import PATIENCE_S, Client, running
from tests.unit.tokens import jwk, token, write_keys

CATS = {f"cat-{n}": f"The {name} cat likes fish" for n, name in enumerate(["red", "blue", "green"])}


def fresh(**changed):
    return token(iat=time.time(), exp=time.time() + 600, **changed)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    keys = write_keys(folder / "keys.json", jwk("hs"))
    with running(folder / "data", auth="jwt", jwt_keys=keys, embedder="none") as service:
        yield service


@asynccontextmanager
async def connected(service, **chosen):
    """A client of acme with a new token for each message, if nothing else is chosen."""
    given = {"tenant": "acme", "token": fresh, "timeout": PATIENCE_S, **chosen}
    async with MemstreamClient(service.runtime["broker"], **given) as client:
        yield client


async def until(condition, what):
    """Return what the condition returns once that is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (outcome := await condition()):
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:.0f} s in vain for {what}"
        await asyncio.sleep(0.1)
    return outcome


async def remembered(client):
    for memory_id, text in CATS.items():
        await client.remember(text, memory_id=memory_id, importance=7.5, metadata={"pet": True})

    async def all_there():
        found = await client.get(list(CATS))
        return len(found.results) == len(CATS)

    await until(all_there, "the memories")


@pytest.mark.requirement("SE-1", "SE-2", "SE-7")
async def test_what_is_remembered_is_found_recalled_got_packed_and_forgotten(service):
    async with connected(service) as client:
        await remembered(client)
        found = await client.search("blue cat", limit=1, filters={"pet": True})
        assert [memory.memory_id for memory in found.results] == ["cat-1"]
        assert found.results[0].content == CATS["cat-1"]
        assert found.results[0].metadata == {"pet": True}
        assert (found.status, found.session_id) == ("ok", client.session)
        recalled = await client.recall("green cat", limit=1)
        assert recalled.results[0].memory_id == "cat-2"
        got = await client.get(["cat-2", "nobody", "cat-0"])
        assert [memory.memory_id for memory in got.results] == ["cat-2", "cat-0"]
        packed = await client.context("red cat", token_budget=12)
        assert 0 < packed.tokens <= 12
        assert CATS["cat-0"] in packed.context
        assert packed.memory_ids == ("cat-0",)
        await client.forget("cat-2")

        async def gone():
            return not (await client.get(["cat-2"])).results

        await until(gone, "it to be forgotten")


@pytest.mark.requirement("TR-1", "SE-10")
async def test_what_is_told_of_a_result_labels_its_search(service):
    async with connected(service) as client:
        await remembered(client)
        asked = {}
        for came in ("used", "judged", "reworded", "abandoned"):
            mine = client.bind(session=f"told-{came}")
            asked[came] = (mine, (await mine.search("blue cat")).request_id)
        mine, request_id = asked["used"]
        await mine.use(request_id, ["cat-1"], quality_score=0.75)
        mine, request_id = asked["judged"]
        await mine.feedback(request_id, 0.25)
        mine, request_id = asked["reworded"]
        await mine.refine(request_id, "azure cat")
        mine, request_id = asked["abandoned"]
        await mine.abandon(request_id)
        expected = {
            asked["used"][1]: ("result_used", 0.75),
            asked["judged"][1]: ("result_used", 0.25),
            asked["reworded"][1]: ("query_refined", None),
            asked["abandoned"][1]: ("result_ignored", None),
        }

        async def labelled():
            ran = await asyncio.to_thread(service.command, "trajectories", "-t", "acme", "--json")
            told = [json.loads(line) for line in ran.stdout.splitlines()]
            outcomes = {one["request_id"]: one["outcome"] for one in told}
            return {
                request_id: (one["type"], one["quality_score"])
                for request_id, one in outcomes.items()
                if request_id in expected
            } == expected

        await until(labelled, "all to be labelled")
        counts = await asyncio.to_thread(service.counts, "acme", "cat-1")
        assert counts["cat-1"].use_count == 1


@pytest.mark.requirement("SE-17")
async def test_what_a_token_does_not_allow_is_an_exception(service):
    async with connected(service, token=None) as client:
        with pytest.raises(UnauthorizedError) as refused:
            await client.search("cat")
        assert refused.value.answer.status == "error"
        with pytest.raises(UnauthorizedError):
            await client.bind(token=token(exp=time.time() - 60)).context("cat")
        with pytest.raises(ForbiddenError, match="not the token's tenant"):
            await client.bind(token=fresh(tenant="umbrella")).search("cat")
        with pytest.raises(ForbiddenError, match="layers"):
            await client.bind(token=fresh(layers=["team"])).recall("cat", layers=["org"])


async def test_answers_come_to_a_topic_of_ones_own_if_the_tenant_may_use_it(service):
    mine = "memory.replies.client"
    # The embedded broker makes a topic when it is asked for, a moment later.
    Client(service.runtime["broker"], ("replies.client",)).close()
    async with connected(service, reply_to=mine) as client:
        with pytest.raises(ForbiddenError, match="reply-to"):
            await client.search("cat")
        command = ("tenant", "set", "acme", f"reply_topics={mine}")
        await asyncio.to_thread(service.command, *command)
        assert (await client.search("cat")).status == "ok"
        assert (await client.context("cat")).status == "ok"


async def test_many_requests_at_once_are_each_answered(service):
    async with connected(service) as client:
        ids = [f"many-{n}" for n in range(100)]
        answers = await asyncio.gather(
            *(client.bind(session=one).search("cat", request_id=one) for one in ids)
        )
        assert [answer.request_id for answer in answers] == ids
        assert [answer.session_id for answer in answers] == ids


async def test_a_trace_is_passed_on(service):
    async with connected(service, traceparent="00-aa-bb-01") as client:
        answer = await client.search("cat")
    outside = Client(service.runtime["broker"])
    outside.result(answer.request_id)
    (headers,) = outside.headers_of("search.results", answer.request_id)
    assert headers["traceparent"] == b"00-aa-bb-01"
    outside.close()


async def test_the_service_refuses_what_an_older_client_would_let_pass(service):
    """The service has the last word, whatever the client's own limits are."""
    async with connected(service) as client:
        with pytest.raises(InvalidRequestError) as refused:
            await client.search("cat", filters={"n": 2**70})
        assert refused.value.answer is not None
        assert isinstance(refused.value, RequestError)
