"""What agents are told about the tools, and in whose session they call them."""

import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError
from memstream_client import BrokerError, MemstreamClient

from memstream.embedded.process import PartError
from memstream.mcp.link import Link
from memstream.mcp.server import build_server
from memstream.settings import SettingsError

READING = {"memory_search", "memory_recall", "memory_get"}
WRITING = {"memory_remember", "memory_feedback"}


def failing(error):
    def connect():
        raise error

    return connect


async def test_tools_tell_what_they_are_for_and_what_they_take():
    async with Client(build_server(Link(failing(PartError("away")), "s"))) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == READING | WRITING
    for name, tool in tools.items():
        assert len(tool.description) > 60
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint == (name in READING)
        for taken, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{name} does not say what {taken} is"
    assert "context" not in tools["memory_search"].input_schema["properties"]
    assert tools["memory_search"].input_schema["required"] == ["query"]
    assert tools["memory_feedback"].input_schema["required"] == ["request_id", "quality_score"]


@pytest.mark.parametrize(
    "error",
    [PartError("it is so"), SettingsError("it is so"), BrokerError("it is so")],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_keeps_a_tool_from_the_service_is_its_error(error):
    async with Client(build_server(Link(failing(error), "s"))) as client:
        for name, arguments in {
            "memory_search": {"query": "cat"},
            "memory_recall": {"query": "cat"},
            "memory_get": {"memory_ids": ["m"]},
            "memory_remember": {"text": "cat"},
            "memory_feedback": {"request_id": "r", "quality_score": 1},
        }.items():
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "it is so" in result.content[0].text


class Caller:
    """What a link looks at in a call."""

    def __init__(self, session=None, **meta):
        self.headers = {} if session is None else {"mcp-session-id": session}
        self.request_context = self
        self.meta = meta


class Opened(MemstreamClient):
    """A client that is open at once."""

    def __init__(self):
        super().__init__("nowhere.invalid:9092", tenant="acme")

    async def __aenter__(self):
        return self


async def sessions(link, *callers, about=None):
    found = []
    for caller in callers:
        async with link.calling(caller, about) as client:
            found.append(client.session)
    return found


async def test_a_session_is_the_callers_and_none_is_shared():
    link = Link(Opened, None)
    named = await sessions(link, Caller("a"), Caller("b"), Caller("a"))
    assert named == ["mcp-a", "mcp-b", "mcp-a"]
    assert len(set(await sessions(link, Caller(), Caller(), Caller()))) == 3
    link.remember_session("r", "mcp-b")
    assert await sessions(link, Caller("a"), about="r") == ["mcp-b"]
    assert await sessions(Link(Opened, "own"), Caller("a"), Caller()) == ["own", "own"]


async def test_after_the_broker_was_away_it_is_looked_for_again():
    opened = []
    link = Link(lambda: opened.append(1) or Opened(), "s")
    await sessions(link, Caller(), Caller())
    assert len(opened) == 1
    with pytest.raises(ToolError, match="away"):
        async with link.calling(Caller()):
            raise BrokerError("away")
    await sessions(link, Caller())
    assert len(opened) == 2
