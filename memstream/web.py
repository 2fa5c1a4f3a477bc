"""HTTP: the console, health, readiness and metrics."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from memstream.console import Console
from memstream.console.access import guarded, harden
from memstream.health import Health

Handler = Callable[[web.Request], Awaitable[web.Response]]

MOST_ORDER_BYTES = 64 * 1024
"""What is ordered from the console is small."""


@asynccontextmanager
async def serve_web(health: Health, console: Console, host: str, port: int) -> AsyncIterator[str]:
    """Serve until the context ends; yields the URL."""
    app = web.Application(middlewares=[guarded(console.access)], client_max_size=MOST_ORDER_BYTES)
    app.on_response_prepare.append(harden)
    console.add_to(app)
    app.add_routes(
        [
            web.get("/healthz", _healthz),
            web.get("/readyz", _readyz(health)),
            web.get("/metrics", _metrics),
        ]
    )
    # Ctrl-C must not wait for a browser that keeps its connection open.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, host, port, reuse_address=True).start()
    console.start()
    try:
        yield f"http://{host}:{port}"
    finally:
        await console.close()
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
