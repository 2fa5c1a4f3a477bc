"""Who may see the console's data and give orders: checked before anything is looked up."""

import hmac
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Literal

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from memstream.console.library import FOR_EVER, PREFIX
from memstream.settings import Settings

log = structlog.get_logger(__name__)

_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+)(?::\d{1,5})?")

Login = Literal["none", "needed", "impossible"]

OPEN: Final = ("/healthz", "/readyz", "/metrics")
"""For probes and Prometheus, which call a worker by whatever name they know it by."""

TELLING: Final = "/api/access"
"""Says whether a token is needed, and nothing else."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):  # noqa: N818 — it is an answer
    """A request is not answered; the message says what to do."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """What this deployment asks of those who look, and of those who give orders."""

    token: str | None = field(default=None, repr=False)
    trusting: bool = True
    """Whether everybody who can reach the port may look, as long as there is no token."""
    names: frozenset[str] = frozenset({"localhost"})
    """By which names it may be called; by its address it always may."""

    @property
    def login(self) -> Login:
        """Whether a token is needed, or could be given at all."""
        if self.token is not None:
            return "needed"
        return "none" if self.trusting else "impossible"

    def check(self, request: web.Request) -> None:
        """Raise if the request is not to be answered."""
        if request.path in OPEN:
            return
        self._check_host(request)
        if request.path.startswith("/api/") and request.path != TELLING:
            self._check_token(request)
            if request.method not in ("GET", "HEAD"):
                self._check_order(request)

    def _check_host(self, request: web.Request) -> None:
        """Refuse a page of somebody else whose name leads here: it could read all we say."""
        found = _HOST.fullmatch(request.headers.get("Host", ""))
        name = found[1].strip("[]") if found else ""
        if not _is_address(name) and name.lower().rstrip(".") not in self.names:
            raise Refused(
                421,
                "this name is not known here: use the address, or add it to MEMSTREAM_WEB_NAMES",
            )

    def _check_token(self, request: web.Request) -> None:
        if self.token is None:
            if not self.trusting:
                raise Refused(
                    403,
                    "tenants' data is only shown to a token: set MEMSTREAM_WEB_TOKEN and restart",
                )
            return
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        # A header may hold bytes that are no text.
        given_bytes = given.strip().encode(errors="surrogateescape")
        right = hmac.compare_digest(given_bytes, self.token.encode())
        if scheme.lower() != "bearer" or not right:
            log.info("console refused", path=request.path, peer=request.remote, token=bool(given))
            raise Refused(401, "the token is missing or wrong: it is that of MEMSTREAM_WEB_TOKEN")

    def _check_order(self, request: web.Request) -> None:
        if self.token is None:
            raise Refused(403, "the console is read-only: set MEMSTREAM_WEB_TOKEN and restart")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise Refused(403, "orders are only taken from the console's own pages")
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "orders are only taken from the console's own pages")
        if request.content_type != "application/json":
            raise Refused(415, "orders are JSON: send content-type application/json")


def access_of(settings: Settings) -> Access:
    """Return what the settings ask for."""
    names = {"localhost", settings.web_host.lower(), *settings.web_names.lower().split(",")}
    here = settings.web_host == "localhost" or (
        _is_address(settings.web_host) and ip_address(settings.web_host).is_loopback
    )
    token = settings.web_token
    return Access(
        token=token.get_secret_value() if token else None,
        trusting=settings.auth == "off" and here,
        names=frozenset(name.strip() for name in names if name.strip()),
    )


def guarded(access: Access) -> Middleware:
    """Return the middleware that every request passes."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            access.check(request)
            return await handler(request)
        except Refused as refused:
            return web.json_response({"error": str(refused)}, status=refused.status)

    return guard


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Say to browsers what a page may do; called before each answer is sent."""
    response.headers.update(HEADERS)
    if request.path.startswith("/static/"):
        response.headers["Cache-Control"] = "no-cache"
    elif request.path.startswith(PREFIX) and response.status in (200, 206, 304):
        response.headers["Cache-Control"] = FOR_EVER


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
