"""The server: the tools over standard input and output, or over HTTP on this machine only."""

import signal
import socket
from collections.abc import Callable
from importlib.metadata import version
from inspect import cleandoc
from typing import Any, Final

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from memstream_client import MemstreamClient

from memstream.embedded.process import PartError
from memstream.mcp.link import Link
from memstream.mcp.tools import MemoryTools

LOOPBACK: Final = "127.0.0.1"
"""Whoever can reach the server acts with its tenant and token, so only this machine can."""

INSTRUCTIONS: Final = (
    "A long-term memory that learns how to search itself. Search or recall before answering, "
    "remember what will matter later, and tell with memory_feedback which memories helped."
)

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


def build_server(link: Link) -> MCPServer[Any]:
    """Return the server with all tools."""
    # Its log is ours; at INFO the SDK would tell what was asked.
    server: MCPServer[Any] = MCPServer(
        "memstream",
        title="memstream",
        instructions=INSTRUCTIONS,
        version=version("memstream"),
        log_level="WARNING",
    )
    tools = MemoryTools(link)
    for tool in (tools.memory_search, tools.memory_recall, tools.memory_get):
        _add(server, tool, READS)
    # Remembering under the id of another memory replaces that one.
    _add(server, tools.memory_remember, WRITES.model_copy(update={"destructive_hint": True}))
    _add(server, tools.memory_feedback, WRITES)
    return server


async def serve_stdio(connect: Callable[[], MemstreamClient], session: str) -> None:
    """Serve one agent until it closes standard input; nothing else is written to the output."""
    # Waiting for input cannot be cancelled. Ending at once loses nothing: what a tool said it has
    # published, the broker has.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    link = Link(connect, session)
    try:
        await build_server(link).run_stdio_async()
    finally:
        await link.close()


async def serve_http(
    connect: Callable[[], MemstreamClient],
    session: str | None,
    port: int,
    on_ready: Callable[[str], None],
) -> None:
    """Serve any number of agents on this machine until it is told to stop."""
    with _listening(port) as listening:
        link = Link(connect, session)
        app = build_server(link).streamable_http_app(host=LOOPBACK)
        web = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        on_ready(f"http://{LOOPBACK}:{listening.getsockname()[1]}/mcp")
        try:
            await web.serve(sockets=[listening])
        finally:
            await link.close()


def _add(server: MCPServer[Any], tool: Callable[..., Any], hints: ToolAnnotations) -> None:
    server.add_tool(tool, description=cleandoc(tool.__doc__ or ""), annotations=hints)


def _listening(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise PartError(
            f"port {port} of {LOOPBACK} cannot be listened on ({error.strerror}): choose another "
            "with --port"
        ) from error
    return listening
