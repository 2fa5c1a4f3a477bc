"""The keys that tokens are signed with: a JWKS file, read again whenever it changes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jwt
import structlog

from topics.faults import DecodeError
from topics.parsing import JsonFields, parse_object

log = structlog.get_logger(__name__)

# Shorter ones can be guessed or factored: RFC 7518, 3.2 and 3.3.
MIN_SECRET_BYTES: Final = 32
MIN_RSA_BITS: Final = 2048

_ALGORITHMS: Final = {("oct", None): "HS256", ("RSA", None): "RS256", ("OKP", "Ed25519"): "EdDSA"}

_Stamp = tuple[int, int, int] | None


class KeyFileError(Exception):
    """A key file cannot be used; the message says why and shows nothing of the keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key and the one algorithm that may be used with it."""

    kid: str | None
    algorithm: str
    material: Any = field(repr=False)


class KeyFile:
    """The keys of a file as it is now; a new version that cannot be used changes nothing."""

    def __init__(self, path: Path) -> None:
        """Read the file; raise KeyFileError if it has no usable key."""
        self._path = path
        self._stamp = _stamp(path)
        self._keys = read_keys(path)

    def find(self, kid: str | None) -> Key | None:
        """Return the key of that id; without an id, the only key there is."""
        self._read_again_if_changed()
        if kid is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.kid == kid), None)

    def _read_again_if_changed(self) -> None:
        # Taken before reading, so that a change in between is seen the next time.
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = read_keys(self._path)
        except KeyFileError as error:
            log.error(
                "token keys not read again, the old ones stay",
                path=str(self._path),
                reason=str(error),
            )
        else:
            log.info("token keys changed", path=str(self._path), kids=[k.kid for k in self._keys])


def read_keys(path: Path) -> tuple[Key, ...]:
    """Return the usable keys of a JWKS file; raise KeyFileError if there is none."""
    try:
        entries = parse_object(path.read_bytes()).get("keys")
    except OSError as error:
        raise KeyFileError(f"it cannot be read ({error.strerror})") from None
    except (DecodeError, RecursionError):
        raise KeyFileError("it is not a JSON object") from None
    if not isinstance(entries, list):
        raise KeyFileError('it has no list of "keys"')
    keys = tuple(key for entry in entries if (key := _key(entry)))
    if not keys:
        raise KeyFileError("it has no usable key (oct, RSA or OKP Ed25519, long enough)")
    kids = [key.kid for key in keys]
    if len(set(kids)) < len(kids):
        # Which of them a token means could only be guessed.
        raise KeyFileError("two of its keys share a kid, or have none")
    return keys


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _key(entry: object) -> Key | None:
    """Read a key; None if it is for something else, as a file may hold such keys too."""
    if not isinstance(entry, dict):
        return None
    kid, algorithm = entry.get("kid"), _algorithm(entry)
    if algorithm is None or not isinstance(kid, str | None) or entry.get("use", "sig") != "sig":
        return None
    try:
        material = jwt.PyJWK(entry, algorithm).key
    except (jwt.PyJWTError, LookupError, ValueError, TypeError, AttributeError):
        return None
    if hasattr(material, "public_key"):
        material = material.public_key()
    return Key(kid, algorithm, material) if _is_long_enough(material) else None


def _algorithm(entry: JsonFields) -> str | None:
    kty, crv = entry.get("kty"), entry.get("crv")
    if not isinstance(kty, str) or not isinstance(crv, str | None):
        return None
    own = _ALGORITHMS.get((kty, crv))
    return own if entry.get("alg", own) == own else None


def _is_long_enough(material: Any) -> bool:
    if isinstance(material, bytes):
        return len(material) >= MIN_SECRET_BYTES
    return getattr(material, "key_size", MIN_RSA_BITS) >= MIN_RSA_BITS
