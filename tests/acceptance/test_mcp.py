"""The MCP server, asked by the official client over both transports and both protocols."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import asynccontextmanager, contextmanager

import httpx
import pytest
from mcp import Client, StdioServerParameters

from memstream.embedded.broker import embedded_broker
from memstream.runtime import Runtime
from tests.acceptance.service import (
    MEMSTREAM,
    PATIENCE_S,
    Service,
    free_port,
    running,
    wait_for,
)
from tests.unit.tokens import jwk, token, write_keys
from topics import TopicNames
from topics.names import topic_sizes

TOOLS = {"memory_search", "memory_recall", "memory_get", "memory_remember", "memory_feedback"}


def fresh(**changed):
    return token(iat=time.time(), exp=time.time() + 600, **changed)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp")
    keys = write_keys(folder / "keys.json", jwk("hs"))
    with running(folder / "data", auth="jwt", jwt_keys=keys, embedder="none") as service:
        yield service


@asynccontextmanager
async def over_stdio(service, *options, mode="auto"):
    parameters = StdioServerParameters(
        command=str(MEMSTREAM), args=["mcp", *options], env=service._environment
    )
    async with asyncio.timeout(PATIENCE_S), Client(parameters, mode=mode) as client:
        yield client


@contextmanager
def serving_http(service, *options):
    """Run the server over HTTP and yield its address."""
    port = free_port()
    arguments = [MEMSTREAM, "mcp", "--http", "--port", str(port), *options]
    process = subprocess.Popen(
        arguments, env=service._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        url = f"http://127.0.0.1:{port}/mcp"

        def listens():
            assert process.poll() is None, process.stderr.read()
            try:
                return httpx.get(url).status_code
            except httpx.TransportError:
                return None

        wait_for(listens, "the server")
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        written, said = process.communicate(timeout=30)
        assert written == b""
        assert b"Traceback" not in said, said


@asynccontextmanager
async def over_http(service, *options, mode="auto"):
    with serving_http(service, *options) as url:
        async with asyncio.timeout(PATIENCE_S), Client(url, mode=mode) as client:
            yield client


each_way = pytest.mark.parametrize(
    ("connected", "mode"),
    [(over_stdio, "auto"), (over_stdio, "legacy"), (over_http, "auto"), (over_http, "legacy")],
    ids=["stdio", "stdio-legacy", "http", "http-legacy"],
)


def text_of(result):
    return "\n".join(part.text for part in result.content)


async def answered(client, name, **arguments):
    """Call a tool that must succeed."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    # Agents that do not read structured content find the same in the text.
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def complained(client, name, **arguments):
    """Call a tool that must fail, and return what it says."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert "Traceback" not in text_of(result)
    return text_of(result)


@pytest.mark.requirement("SE-10", "SE-17", "TR-1")
@each_way
async def test_an_agent_remembers_searches_and_tells_what_it_used(
    service, request, connected, mode
):
    name = request.node.callspec.id
    async with connected(service, "--tenant", "acme", "--token", fresh(), mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        kept = await answered(
            client,
            "memory_remember",
            text=f"The {name} cat is called Momo",
            importance=8,
            metadata={"way": name},
        )
        found = await until_found(client, query=f"{name} cat", filters={"way": name})
        (memory,) = found["results"]
        assert memory["memory_id"] == kept["memory_id"]
        assert memory["content"] == f"The {name} cat is called Momo"
        got = await answered(client, "memory_get", memory_ids=[kept["memory_id"], "nobody"])
        assert [one["content"] for one in got["results"]] == [memory["content"]]
        recalled = await answered(client, "memory_recall", query=f"{name} cat", limit=100)
        assert kept["memory_id"] in [one["memory_id"] for one in recalled["results"]]
        told = await answered(
            client,
            "memory_feedback",
            request_id=found["request_id"],
            quality_score=0.75,
            used=[kept["memory_id"]],
        )
        assert told == {"request_id": found["request_id"], "used": [kept["memory_id"]]}
    outcome = await asyncio.to_thread(label, service, found["request_id"])
    assert (outcome["type"], outcome["quality_score"]) == ("result_used", 0.75)
    counts = await asyncio.to_thread(service.counts, "acme", kept["memory_id"])
    assert counts[kept["memory_id"]].use_count == 1


async def until_found(client, **asked):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := await answered(client, "memory_search", **asked))["results"]:
        assert time.monotonic() < deadline, "what was remembered is not found"
        await asyncio.sleep(0.2)
    return found


def label(service, request_id):
    """Wait for what came of a search."""

    def labelled():
        lines = service.command("trajectories", "-t", "acme", "--json").stdout.splitlines()
        told = [one for one in map(json.loads, lines) if one["request_id"] == request_id]
        return told and told[-1]["outcome"]

    return wait_for(labelled, "the label")


WRONG = [
    ("memory_search", {}, "query"),
    ("memory_search", {"query": ""}, "query"),
    ("memory_search", {"query": "x", "limit": 0}, "limit"),
    ("memory_search", {"query": "x", "layers": ["attic"]}, "layers"),
    ("memory_search", {"query": "\x00"}, "U+0000"),
    ("memory_get", {"memory_ids": []}, "memory_ids"),
    ("memory_get", {"memory_ids": ["a\nb"]}, "control characters"),
    ("memory_remember", {"text": "x", "importance": 11}, "importance"),
    ("memory_remember", {"text": "x", "metadata": {"a": "b" * 20_000}}, "16384 bytes"),
    ("memory_feedback", {"request_id": "r", "quality_score": 2}, "quality_score"),
    ("memory_feedback", {"request_id": "", "quality_score": 1}, "request_id"),
]


@pytest.mark.parametrize(
    ("connected", "mode"), [(over_stdio, "auto"), (over_http, "legacy")], ids=["stdio", "http"]
)
async def test_what_is_wrong_is_the_tools_error_and_the_next_call_is_served(
    service, connected, mode
):
    async with connected(service, "--tenant", "acme", "--token", fresh(), mode=mode) as client:
        for name, arguments, complaint in WRONG:
            assert complaint in await complained(client, name, **arguments)
        assert "results" in await answered(client, "memory_search", query="cat")


@pytest.mark.requirement("SE-17")
async def test_a_token_that_is_refused_is_the_tools_error(service):
    forged = fresh(version=1)
    async with over_stdio(service, "--tenant", "acme", "--token", forged) as client:
        said = await complained(client, "memory_search", query="cat")
        assert "unauthorized" in said
        assert forged not in said
    async with over_stdio(service, "--tenant", "other", "--token", fresh()) as client:
        assert "forbidden" in await complained(client, "memory_recall", query="cat")


async def test_a_service_that_comes_goes_and_moves_is_looked_for_with_each_call(tmp_path):
    sizes = topic_sizes(TopicNames(), 1)
    asked = {"query": "cat"}

    def runs_at(address):
        Runtime(broker=address, web="", database="", pid=os.getpid()).write(tmp_path)

    options = ("--tenant", "acme", "--timeout", "3")
    async with over_stdio(Service(tmp_path), *options) as client:
        for name, arguments in (
            ("memory_search", asked),
            ("memory_remember", {"text": "cat"}),
            ("memory_feedback", {"request_id": "r", "quality_score": 1}),
        ):
            assert "make up" in await complained(client, name, **arguments)
        async with embedded_broker(tmp_path, sizes) as first:
            runs_at(first)
            # There is a broker, but nobody who answers.
            assert "no result within 3 s" in await complained(client, "memory_search", **asked)
        assert first in await complained(client, "memory_search", **asked)
        with socket.create_server(("127.0.0.1", int(first.rpartition(":")[2]))):
            async with embedded_broker(tmp_path, sizes) as second:
                assert second != first
                runs_at(second)
                assert "no result within 3 s" in await complained(client, "memory_search", **asked)
                assert await answered(client, "memory_remember", text="cat", memory_id="m")


def test_nothing_but_the_protocol_is_written(tmp_path):
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    call = {"name": "memory_search", "arguments": {"query": "cat"}}
    sent = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is not JSON",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
    process = subprocess.Popen(
        [MEMSTREAM, "mcp", "--tenant", "acme"],
        env=Service(tmp_path)._environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("\n".join(sent) + "\n")
    process.stdin.flush()
    lines = []
    while not lines or lines[-1].get("id") != 2:
        lines.append(json.loads(process.stdout.readline()))
    # Though it waits for input.
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == -signal.SIGINT
    rest, _ = process.communicate()
    assert rest == ""
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert lines[-1]["result"]["isError"]


def test_over_http_only_this_machine_and_its_own_pages_are_served(service):
    with serving_http(service, "--tenant", "acme") as url:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        wanted = {"accept": "application/json, text/event-stream"}
        foreign = ({"host": "evil.example"}, {"origin": "http://evil.example"})
        for headers in foreign:
            refused = httpx.post(url, json=hello, headers={**wanted, **headers})
            assert refused.status_code in (403, 421)
        port = url.split(":")[2].split("/")[0]
        taken = service.command("mcp", "--tenant", "t", "--http", "--port", port, check=False)
    assert taken.returncode == 1
    assert len(taken.stderr.strip().splitlines()) == 1
    assert "--port" in taken.stderr
