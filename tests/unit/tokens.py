"""Keys of each kind, key files with them, and tokens signed with them."""

import base64
import hmac
import json
from datetime import UTC, datetime
from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SECRET = b"a secret of thirty-two bytes, ok"
ALGORITHMS = {"hs": "HS256", "rs": "RS256", "ed": "EdDSA"}


def signing_key(kid, version=0):
    """Return the key that signs; each version is another key of the same kind."""
    return _signing_key(kid, version)


@cache
def _signing_key(kid, version):
    if kid == "hs":
        return SECRET + b"!" * version
    return generate_private_key(65537, 2048) if kid == "rs" else Ed25519PrivateKey.generate()


def jwk(kid, version=0):
    """Return the entry of a key file: the secret, or the public half."""
    key = signing_key(kid, version)
    if kid == "hs":
        return {"kty": "oct", "kid": kid, "k": _base64(key)}
    kind = RSAAlgorithm if kid == "rs" else OKPAlgorithm
    return json.loads(kind.to_jwk(key.public_key())) | {"kid": kid}


def write_keys(path, *entries):
    path.write_text(json.dumps({"keys": entries}))
    return path


def claims(**changed):
    """Return good claims with some changed; those that are ... are left out."""
    now = int(NOON.timestamp())
    good = {"tenant": "acme", "sub": "alice", "roles": [], "exp": now + 60, "iat": now}
    return {name: value for name, value in (good | changed).items() if value is not ...}


def token(kid="hs", version=0, headers=None, **changed):
    names = {"kid": kid} if headers is None else headers
    payload = json.dumps(claims(**changed)).encode()
    key = signing_key(kid, version)
    return jwt.PyJWS().encode(payload, key, algorithm=ALGORITHMS[kid], headers=names)


def unsigned(**changed):
    """Return a token that says it needs no signature."""
    return f"{_part({'alg': 'none', 'kid': 'hs'})}.{_part(claims(**changed))}."


def confused(**changed):
    """Return a token signed with a public key as if that were a secret."""
    public = signing_key("rs").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = f"{_part({'alg': 'HS256', 'kid': 'rs'})}.{_part(claims(**changed))}"
    return f"{signed}.{_base64(hmac.digest(pem, signed.encode(), 'sha256'))}"


def _part(fields):
    return _base64(json.dumps(fields).encode())


def _base64(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def bearer(signed):
    return [("authorization", f"Bearer {signed}".encode())]
