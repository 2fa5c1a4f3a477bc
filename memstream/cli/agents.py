"""The command that offers memories to agents."""

import uuid
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from memstream.cli.messages import Tenant
from memstream.cli.shell import Token, app, run
from memstream.display import errors
from memstream.runtime import with_running_parts
from memstream.settings import load_settings
from memstream.tenant_values import check_tenant

if TYPE_CHECKING:
    from memstream_client import MemstreamClient

MCP_PORT = 6067
"""Next to the console's."""


@app.command()
def mcp(
    tenant: Tenant,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP on this machine, instead of stdio.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port for --http; 0 for any.")
    ] = MCP_PORT,
    session: Annotated[
        str | None, typer.Option(help="The session of all calls; one of its own if none.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a result.")] = 30.0,
    token: Token = None,
) -> None:
    """Offer a tenant's memories to agents as tools (Model Context Protocol)."""
    name = check_tenant(tenant)

    from memstream.calling import client_of  # aiokafka and mcp are slow to import
    from memstream.logs import set_up_logs
    from memstream.mcp.server import serve_http, serve_stdio

    set_up_logs(load_settings(token=token).log_format)

    def connect() -> "MemstreamClient":
        # Read again with each connection: the service may start after us, and elsewhere.
        settings = with_running_parts(load_settings(token=token))
        return client_of(settings, name, session, timeout)

    if http:
        run(serve_http(connect, session, port, _tell))
    else:
        run(serve_stdio(connect, session or f"mcp-{uuid.uuid4()}"))


def _tell(url: str) -> None:
    errors.print(f"MCP server at {escape(url)} · Ctrl-C stops it", soft_wrap=True)
