"""The console's addresses: its pages, and under /api what they read and order."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import structlog
from aiohttp import web

from memstream.console.access import Refused, access_of
from memstream.console.api import Api
from memstream.console.library import Library
from memstream.console.orders import Orders
from memstream.console.sources import Sources
from memstream.embedded.process import PartError
from memstream.health import Health
from memstream.settings import Settings
from storage import Store
from storage.protocol import StoreError

log = structlog.get_logger(__name__)

STATIC: Final = Path(__file__).parent / "static"

Answer = Callable[[web.Request], Awaitable[dict[str, Any]]]


class Console:
    """Everything that is served for people to look at."""

    def __init__(self, settings: Settings, health: Health) -> None:
        self.access = access_of(settings)
        self._sources = Sources(settings, health)
        self.open: Callable[[Store], None] = self._sources.open
        self.close = self._sources.close

    def start(self) -> None:
        """Begin to look at what this worker counts."""
        self._sources.pulse.start()

    def add_to(self, app: web.Application) -> None:
        """Add the addresses."""
        api, orders = Api(self._sources, self.access), Orders(self._sources)
        library = Library()
        app.add_routes(
            [
                web.get("/", _page(library)),
                web.get(library.address, library.served),
                web.static("/static/", STATIC),
                web.get("/api/access", _answered(api.access)),
                web.get("/api/overview", _answered(api.overview)),
                web.get("/api/tenant", _answered(api.tenant)),
                web.get("/api/trajectories", _answered(api.trajectories)),
                web.get("/api/trajectory", _answered(api.trajectory)),
                web.get("/api/policy", _answered(api.policy)),
                web.post("/api/policy", _answered(orders.policy)),
                web.get("/api/dead-letters", _answered(api.dead_letters)),
                web.post("/api/dead-letters", _answered(orders.resend)),
            ]
        )


def _page(library: Library) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def page(_: web.Request) -> web.Response:
        styles = "".join(f'<template id="{one}"></template>' for one in await library.styles())
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        text = text.replace("{library}", library.address).replace("{styles}", styles)
        return web.Response(text=text, content_type="text/html")

    return page


def _answered(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answered(request: web.Request) -> web.Response:
        try:
            told = await answer(request)
        except (StoreError, PartError) as error:
            raise Refused(503, str(error)) from error
        return web.json_response(told, dumps=_dumps)

    return answered


def _dumps(told: Any) -> str:
    # Whatever reads this as something other than JSON finds no tag in it.
    text = json.dumps(told, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
