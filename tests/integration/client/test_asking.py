"""The client on a real protocol: each answer comes to who asked, and none is missed."""

import asyncio

import pytest
from memstream_client import (
    BrokerError,
    ForbiddenError,
    MemstreamClient,
    MemstreamError,
    RequestError,
    ResultTimeoutError,
    TooLargeError,
    UnreadableResultError,
    errors,
)

from memstream.embedded.broker import embedded_broker
from tests.acceptance.service import free_port
from tests.integration.client.conftest import found


async def test_a_request_carries_its_key_its_headers_and_only_what_was_said(broker, answering):
    tokens = iter(("first", "second"))
    async with (
        MemstreamClient(
            f"kafka://{broker}",
            tenant="acme",
            token=lambda: next(tokens),
            topic_prefix="test.",
            reply_to="test.mine",
            new_id=iter(("one", "two", "three")).__next__,
        ) as client,
        answering() as service,
    ):
        assert client.session == "client-one"
        asked = asyncio.create_task(client.search("cat", limit=3, layers=["user"]))
        message, request = await service.next()
        await service.answer(found(request), topic="test.mine")
        assert (await asked).request_id == "two"
        assert message.key == b"acme/client-one"
        assert dict(message.headers) == {
            "authorization": b"Bearer first",
            "correlation-id": b"two",
            "reply-to": b"test.mine",
        }
        del request["requested_at"]
        assert request == {
            "request_id": "two",
            "tenant_id": "acme",
            "session_id": "client-one",
            "query": "cat",
            "operation": "search",
            "layers": ["user"],
            "limit": 3,
            "mode": "hybrid",
            "fusion": "auto",
        }
        theirs = client.bind(tenant="umbrella", session="other", traceparent="00-1-2-01")
        asked = asyncio.create_task(theirs.get(["momo"]))
        message, request = await service.next()
        await service.answer(found(request))
        assert (await asked).results[0].content == "her cat is called Momo"
        assert message.key == b"umbrella/other"
        assert dict(message.headers)["traceparent"] == b"00-1-2-01"
        assert dict(message.headers)["authorization"] == b"Bearer second"
        assert "second" not in repr(theirs.__dict__)


async def test_many_wait_at_once_and_each_gets_its_own(client, answering):
    count = 200
    async with answering() as service:
        asked = [asyncio.create_task(client.search(f"cat {n}")) for n in range(count)]
        requests = [(await service.next())[1] for _ in range(count)]
        for request in reversed(requests):
            answer = found(request, session_id=request["query"])
            await service.answer(answer)
            await service.answer(answer)  # delivered at least once
        answers = await asyncio.gather(*asked)
    assert [answer.session_id for answer in answers] == [f"cat {n}" for n in range(count)]


async def test_what_others_were_answered_before_or_cannot_be_read_is_passed_over(client, answering):
    async with answering() as service:
        old = {"request_id": "old", "tenant_id": "acme", "session_id": "s"}
        await service.answer(found(old))
        asked = asyncio.create_task(client.search("cat", request_id="new"))
        _, request = await service.next()
        for noise in (b"", b"\xff", b"[]", b"null", b'{"request_id": 1}', found(old)):
            await service.answer(noise)
        await service.answer(found(request))
        assert (await asked).request_id == "new"
        waiting = asyncio.create_task(client.search("cat", request_id="old"))
        await service.next()
        await asyncio.wait([waiting], timeout=0.5)
        assert not waiting.done(), "an answer from before the request is not its answer"
        await service.answer(found(old))
        await waiting


async def test_every_error_code_is_an_exception_with_its_answer(client, answering):
    async with answering() as service:
        for kind in RequestError.__subclasses__():
            asked = asyncio.create_task(client.recall("cat"))
            _, request = await service.next()
            error = {"code": kind.code, "message": "it is so"}
            await service.answer(found(request, status="error", results=[], error=error))
            with pytest.raises(kind) as raised:
                await asked
            assert (raised.value.code, raised.value.message) == (kind.code, "it is so")
            assert raised.value.answer.request_id == request["request_id"]


async def test_an_error_about_a_request_that_could_not_be_read_is_found_by_its_header(
    client, answering
):
    async with answering() as service:
        asked = asyncio.create_task(client.search("cat"))
        message, _ = await service.next()
        nobody = {"request_id": "", "tenant_id": "", "session_id": ""}
        error = {"code": "forbidden", "message": "no"}
        headers = [("correlation-id", dict(message.headers)["correlation-id"])]
        await service.answer(found(nobody, status="error", results=[], error=error), headers)
        with pytest.raises(ForbiddenError):
            await asked


async def test_an_answer_of_another_version_is_told_at_once(client, answering):
    async with answering() as service:
        asked = asyncio.create_task(client.search("cat"))
        _, request = await service.next()
        await service.answer(found(request, results="many"))
        with pytest.raises(UnreadableResultError, match="older than the service"):
            await asked


async def test_without_an_answer_in_time_it_says_so_and_goes_on(client, answering):
    with pytest.raises(ResultTimeoutError, match=r"within 0\.5 s.*test\.search\.requests"):
        await client.search("cat", timeout=0.5, request_id="twice")
    async with answering() as service:
        await service.next()
        asked = asyncio.create_task(client.search("cat", request_id="twice"))
        _, request = await service.next()
        with pytest.raises(MemstreamError, match="waiting for its answer already"):
            await client.search("cat", request_id="twice")
        await service.answer(found(request))
        assert (await asked).request_id == "twice"


async def test_closing_ends_what_waits(broker, answering):
    async with answering() as service:
        async with MemstreamClient(broker, tenant="acme", topic_prefix="test.") as client:
            asked = asyncio.create_task(client.search("cat"))
            await service.next()
        with pytest.raises(MemstreamError, match="closed"):
            await asked


async def test_a_broker_that_goes_away_is_told_and_closing_does_not_wait_for_it(tmp_path):
    async with embedded_broker(tmp_path, {"memory.items": 1}) as address:
        client = await MemstreamClient(address, tenant="acme", timeout=2).__aenter__()
        await client.remember("cat")
    with pytest.raises(BrokerError, match=address):
        await client.remember("dog")
    async with asyncio.timeout(20):
        await client.__aexit__()


async def test_a_broker_that_is_away_is_told():
    client = MemstreamClient(f"127.0.0.1:{free_port()}", tenant="acme")
    with pytest.raises(BrokerError, match="does not answer"):
        await client.__aenter__()


async def test_a_topic_that_is_missing_is_told(kafka):
    async with MemstreamClient(kafka, tenant="acme", topic_prefix="nobodys.", timeout=5) as client:
        with pytest.raises(BrokerError, match=r"nobodys\.search\.results.*topics of a memstream"):
            await client.search("cat")
        with pytest.raises(BrokerError, match=r"has it the topic nobodys\.items\?"):
            await client.remember("cat")


async def test_a_message_that_the_broker_would_not_take_is_too_large(client):
    with pytest.raises(TooLargeError):
        await client.bind(token="x" * 2_000_000).remember("cat")


def test_every_exception_is_one_of_ours():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, MemstreamError) for kind in kinds)
    assert issubclass(ResultTimeoutError, TimeoutError)
