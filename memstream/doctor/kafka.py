"""What listens at an address: asked in Kafka's own words, with TLS and without.

Clients only tell that they could not connect. A broker that is asked for an unknown way to log in
answers which ones it has, or that it asks nobody to; by that one knows which protocol it speaks.
"""

import asyncio
import ssl
import struct
from dataclasses import dataclass
from typing import Final

PROBE_S: Final = 2.0

_SASL_HANDSHAKE: Final = 17
_NUMBER: Final = 20_26
"""What the answer to our question must begin with."""
_MECHANISM: Final = b"NONE-OF-YOURS"
_UNSUPPORTED_MECHANISM: Final = 33
_MOST_BYTES: Final = 10_000
_UNREADABLE: Final = (OSError, EOFError, struct.error, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Listener:
    """What is known of a listener."""

    tls: bool
    kafka: bool
    mechanisms: tuple[str, ...] = ()
    """The ways to log in; none if nobody has to."""

    @property
    def protocol(self) -> str:
        """The security protocol it speaks, or both that it may if it does not say."""
        if not self.kafka:
            return "SSL or SASL_SSL"
        return ("SASL_" if self.mechanisms else "") + ("SSL" if self.tls else "PLAINTEXT")


async def reachable(host: str, port: int) -> str | None:
    """Return why nothing can be connected to there, None if something can."""
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no answer within {PROBE_S:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    writer.transport.abort()
    return None


async def listener(host: str, port: int) -> Listener | None:
    """Return what listens there, None if it is not Kafka."""
    plain, encrypted = await asyncio.gather(_plain(host, port), _encrypted(host, port))
    return plain or encrypted


async def _plain(host: str, port: int) -> Listener | None:
    try:
        async with asyncio.timeout(PROBE_S):
            answer = await _asked(*await asyncio.open_connection(host, port))
    except _UNREADABLE:
        return None
    return None if answer is None else Listener(False, True, answer)


async def _encrypted(host: str, port: int) -> Listener | None:
    # Whose certificate it is does not matter here: nothing is told to anybody.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(PROBE_S):
            streams = await asyncio.open_connection(host, port, ssl=context)
    except OSError:
        return None
    try:
        async with asyncio.timeout(PROBE_S):
            answer = await _asked(*streams)
    except _UNREADABLE:
        # Such as one that wants a certificate of ours first.
        answer = None
    return Listener(True, answer is not None, answer or ())


async def _asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> tuple[str, ...] | None:
    """Return the ways to log in; None if the answer is not Kafka's."""
    try:
        body = struct.pack(">hhih", _SASL_HANDSHAKE, 1, _NUMBER, -1)
        body += struct.pack(">h", len(_MECHANISM)) + _MECHANISM
        writer.write(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        if not 10 <= size <= _MOST_BYTES:
            return None
        return _mechanisms(await reader.readexactly(size))
    finally:
        # Not closed: with TLS that takes until the other side says goodbye too, if it ever does.
        writer.transport.abort()


def _mechanisms(answer: bytes) -> tuple[str, ...] | None:
    number, code, count = struct.unpack_from(">ihi", answer)
    if number != _NUMBER:
        return None
    found, at = [], 10
    for _ in range(count if code == _UNSUPPORTED_MECHANISM else 0):
        (size,) = struct.unpack_from(">h", answer, at)
        found.append(answer[at + 2 : at + 2 + size].decode())
        at += 2 + size
    return tuple(found)
