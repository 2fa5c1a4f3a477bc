"""Who sent a message, by its token, and whether that allows what the message asks for."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Final, TypeVar

import jwt
from pydantic import Field, ValidationError

from models import (
    LAYER_PRECEDENCE,
    ContextRequest,
    Item,
    Layer,
    Record,
    SearchRequest,
    Signal,
)
from models.identifiers import Identifier
from topics.faults import RefusedError
from topics.headers import Headers
from topics.jwks import Key, KeyFile

SKEW_S: Final = 30.0
"""How far the clocks of who signs and who checks may be apart."""

MAX_TOKEN_CHARACTERS: Final = 16 * 1024

Q = TypeVar("Q", SearchRequest, ContextRequest)

CROSS_TENANT_READ: Final = "cross_tenant_read"
"""The role that may search another tenant's memories, which is audited; it never writes."""

_JWS: Final = jwt.PyJWS()


class Claims(Record):
    """What a token says of its bearer. Absent is not null: a null claim is an issuer's mistake."""

    tenant: Identifier
    sub: Identifier
    roles: Annotated[tuple[Identifier, ...], Field(strict=False)]
    layers: Annotated[tuple[Layer, ...], Field(strict=False)] = LAYER_PRECEDENCE
    exp: float
    nbf: float = 0.0
    iat: float = 0.0


class Tokens:
    """Checks tokens against the keys of a file."""

    def __init__(self, keys: KeyFile, clock: Callable[[], datetime]) -> None:
        self._keys = keys
        self._clock = clock

    def claims(self, headers: Headers, at: datetime | None = None) -> Claims:
        """Return what the message's token says; raise RefusedError unless it holds.

        It has to hold now, or at the moment that is given.
        """
        token = headers.token
        if token is None:
            raise _unauthorized("missing or malformed; should be Bearer and a JWT")
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise _unauthorized(f"the token has more than {MAX_TOKEN_CHARACTERS} characters")
        claims = _read(_payload(token, self._key(token)))
        _check_times(claims, (at or self._clock()).timestamp())
        return claims

    def _key(self, token: str) -> Key:
        try:
            header = _JWS.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise _unauthorized("the token is not a signed JWT") from None
        kid = header.get("kid")
        key = self._keys.find(kid)
        if key is None:
            wrong = "no kid, and there are several keys" if kid is None else "a kid that no key has"
            raise _unauthorized(f"the token names {wrong}")
        # A public key is no secret: whoever has it could sign with it if the token could choose.
        if header.get("alg") != key.algorithm:
            raise _unauthorized(f"the token's alg is not its key's, {key.algorithm}")
        return key


def allow_request(claims: Claims, request: Q) -> Q:
    """Return the request within the layers of the token; raise RefusedError if it goes beyond."""
    if CROSS_TENANT_READ not in claims.roles:
        _check_tenant(claims, request.tenant_id)
    _check_layers(claims, request.layers or ())
    if set(claims.layers) == set(LAYER_PRECEDENCE):
        return request
    if not claims.layers:
        raise _forbidden("layers: the token allows none")
    if isinstance(request, SearchRequest) and request.strategy == "exhaustive":
        # It looks in all layers, whatever the request names; here, in all that are allowed.
        return request.model_copy(
            update={"strategy": None, "mode": "hybrid", "layers": claims.layers}
        )
    return request.model_copy(update={"layers": request.layers or claims.layers})


def allow_item(claims: Claims, item: Item) -> None:
    """Raise RefusedError if the item is not the token's to write: roles do not matter here."""
    _check_tenant(claims, item.tenant_id)
    _check_layers(claims, (item.layer,))


def allow_signal(claims: Claims, signal: Signal) -> None:
    """Raise RefusedError if the signal is of another tenant; neither roles nor layers matter."""
    _check_tenant(claims, signal.tenant_id)


def _check_tenant(claims: Claims, tenant_id: str) -> None:
    if tenant_id != claims.tenant:
        raise _forbidden("tenant_id: not the token's tenant")


def _check_layers(claims: Claims, named: tuple[Layer, ...]) -> None:
    if beyond := [layer for layer in named if layer not in claims.layers]:
        raise _forbidden(f"layers: the token does not allow {', '.join(beyond)}")


def _check_times(claims: Claims, now: float) -> None:
    if claims.exp <= now - SKEW_S:
        raise _unauthorized("the token has expired")
    if max(claims.nbf, claims.iat) > now + SKEW_S:
        raise _unauthorized("the token is not valid yet")


def _payload(token: str, key: Key) -> bytes:
    try:
        payload: bytes = _JWS.decode(token, key.material, algorithms=[key.algorithm])
    except jwt.InvalidSignatureError:
        raise _unauthorized("the token's signature is wrong") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise _unauthorized("the token cannot be verified") from None
    return payload


def _read(payload: bytes) -> Claims:
    try:
        return Claims.model_validate_json(payload)
    except ValidationError as error:
        # Only names: what the claims say stays between the issuer and memstream.
        named = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
        wrong = ", ".join(sorted(named)) or "all"
        raise _unauthorized(f"claims missing or malformed: {wrong}") from None


def _unauthorized(problem: str) -> RefusedError:
    return RefusedError("unauthorized", f"authorization: {problem}")


def _forbidden(problem: str) -> RefusedError:
    return RefusedError("forbidden", problem)
