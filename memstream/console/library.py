"""The charting library, served from the installed package plotly: no page asks elsewhere."""

import asyncio
import gzip
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from aiohttp import web

PREFIX: Final = "/library/"

FOR_EVER: Final = "public, max-age=31536000, immutable"
"""An address has the version in it: what is there never changes."""

_OWN_STYLE: Final = re.compile(rb'getElementById\("([0-9a-f]{64})"\)')
"""How a part of the library looks whether its inline style, named by a digest, is there already."""


class Library:
    """Plotly's script: read when somebody first looks, and compressed once."""

    def __init__(self) -> None:
        # Only files of it are wanted: importing plotly would take memory for nothing.
        package = distribution("plotly")
        self.path = Path(str(package.locate_file("plotly/package_data/plotly.min.js")))
        self.address = f"{PREFIX}plotly-{package.version}.min.js"
        self._lock = asyncio.Lock()
        self._packed: bytes | None = None
        self._styles: tuple[str, ...] | None = None

    async def served(self, request: web.Request) -> web.StreamResponse:
        """Answer with the script."""
        headers = {"Content-Type": "text/javascript; charset=utf-8", "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.FileResponse(self.path, headers=headers)
        async with self._lock:
            if self._packed is None:
                self._packed = await asyncio.to_thread(self._pack)
        return web.Response(body=self._packed, headers=headers | {"Content-Encoding": "gzip"})

    async def styles(self) -> tuple[str, ...]:
        """Return the ids of the inline styles that it would write, were they not there."""
        async with self._lock:
            if self._styles is None:
                self._styles = await asyncio.to_thread(self._find_styles)
        return self._styles

    def _pack(self) -> bytes:
        return gzip.compress(self.path.read_bytes(), mtime=0)

    def _find_styles(self) -> tuple[str, ...]:
        return tuple(sorted({one.decode() for one in _OWN_STYLE.findall(self.path.read_bytes())}))
