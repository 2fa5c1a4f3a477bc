"""HTTP: health, readiness, metrics, and a first page that says where things are."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import escape

from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from memstream.embedded.process import PartError
from memstream.health import Health

Handler = Callable[[web.Request], Awaitable[web.Response]]

PORTS_TO_TRY = 20

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>memstream</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
li{margin:.3rem 0} code{font-size:.95em}
</style></head><body>
<h1>memstream</h1>
<p>Memories for AI agents, written and searched through Kafka. This worker %(state)s.</p>
%(reasons)s
<ul>
<li><a href="/readyz"><code>/readyz</code></a> whether it can serve, and if not, why</li>
<li><a href="/healthz"><code>/healthz</code></a> whether its loop is alive</li>
<li><a href="/metrics"><code>/metrics</code></a> for Prometheus</li>
</ul></body></html>"""


def free_port(host: str, wanted: int) -> int:
    """Return the wanted port or the next free one after it."""
    for port in range(wanted, min(wanted + PORTS_TO_TRY, 65_536)) if wanted else (0,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            chosen: int = probe.getsockname()[1]
            return chosen
    raise PartError(f"no free port from {wanted} on for the console: set MEMSTREAM_WEB_PORT")


@asynccontextmanager
async def serve_web(health: Health, host: str, port: int) -> AsyncIterator[str]:
    """Serve until the context ends; yields the URL."""
    app = web.Application()
    app.add_routes(
        [
            web.get("/", _page(health)),
            web.get("/healthz", _healthz),
            web.get("/readyz", _readyz(health)),
            web.get("/metrics", _metrics),
        ]
    )
    # Ctrl-C must not wait for a browser that keeps its connection open.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, host, port, reuse_address=True).start()
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def _healthz(_: web.Request) -> web.Response:
    return web.json_response({"status": "alive"})


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(
        body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST}
    )


def _readyz(health: Health) -> Handler:
    async def readyz(_: web.Request) -> web.Response:
        reasons = await health.reasons()
        status = "ready" if not reasons else "not ready"
        return web.json_response(
            {"status": status, "reasons": reasons}, status=503 if reasons else 200
        )

    return readyz


def _page(health: Health) -> Handler:
    async def page(_: web.Request) -> web.Response:
        reasons = await health.reasons()
        items = "".join(f"<li>{name}: {escape(why)}</li>" for name, why in reasons.items())
        state = "is not ready yet" if reasons else "is ready"
        return web.Response(
            text=_PAGE % {"state": state, "reasons": f"<ul>{items}</ul>" if items else ""},
            content_type="text/html",
        )

    return page
