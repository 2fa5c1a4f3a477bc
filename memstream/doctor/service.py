"""The service itself, if it runs here, and the port of its console."""

import errno
import socket
from collections.abc import Sequence
from typing import Any, Final

import httpx

from memstream.addresses import free_port
from memstream.doctor.finding import Finding, fail, ok, warn
from memstream.embedded.process import PartError
from memstream.runtime import read_runtime
from memstream.settings import Settings

SERVICE: Final = "service"
PORT: Final = "console"
ANSWER_S: Final = 4.0


async def examine_service(settings: Settings) -> Sequence[Finding]:
    """Tell whether it runs and is ready, or else whether its console could be served."""
    try:
        runtime = read_runtime(settings.data_dir)
    except OSError:
        runtime = None  # What is wrong with the data folder is found where that is examined.
    if runtime is not None:
        return [_readiness(runtime.web, await _asked(runtime.web))]
    host, port = settings.web_host, settings.web_port
    refused = _bind(host, port)
    if refused is None:
        return [_idle(settings), ok(PORT, f"{host}:{port or 'any port'} is free")]
    if refused == errno.EADDRINUSE:
        url = f"http://{host}:{port}"
        readiness = await _asked(url)
        if readiness is not None:
            return [_readiness(url, readiness)]
        return [_idle(settings), _taken(host, port)]
    why = f"{host}:{port} cannot be listened on ({errno.errorcode.get(refused, refused)})"
    return [_idle(settings), fail(PORT, why, "correct MEMSTREAM_WEB_HOST and MEMSTREAM_WEB_PORT")]


def _idle(settings: Settings) -> Finding:
    if settings.broker.startswith("kafka://"):
        return ok(SERVICE, "does not run from this folder; workers elsewhere are not looked for")
    return warn(SERVICE, "does not run from this folder", "run `make up`")


def _readiness(url: str, told: dict[str, Any] | None) -> Finding:
    if told is None:
        return fail(SERVICE, f"does not answer at {url}", "see its log, and start it again")
    if told["reasons"]:
        why = "; ".join(f"{part}: {reason}" for part, reason in told["reasons"].items())
        return fail(SERVICE, f"not ready at {url} ({why})", "see its log; a start takes a moment")
    return ok(SERVICE, f"ready at {url}")


async def _asked(url: str) -> dict[str, Any] | None:
    """Return what a memstream says of itself; None if nothing answers, or something else does."""
    try:
        async with httpx.AsyncClient(timeout=ANSWER_S, trust_env=False) as client:
            told = (await client.get(f"{url}/readyz")).json()
    except (httpx.HTTPError, ValueError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("reasons"), dict) else None


def _bind(host: str, port: int) -> int | None:
    """Return why nothing can be served there, as a number of an error; None if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno or errno.EADDRNOTAVAIL
    return None


def _taken(host: str, port: int) -> Finding:
    try:
        instead = free_port(host, port)
    except PartError as error:
        return fail(PORT, f"port {port} is taken: {error}", "set MEMSTREAM_WEB_PORT to a free one")
    what = f"port {port} is taken by another program: {instead} would be used"
    return warn(PORT, what, "stop that program, or set MEMSTREAM_WEB_PORT")
