"""Key files: usable keys only, read again when they change, kept when the change is broken."""

import json
import os

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm
from structlog.testing import capture_logs

from tests.unit.tokens import NOON, bearer, jwk, signing_key, token, write_keys
from topics import Headers, RefusedError
from topics.auth import Tokens
from topics.jwks import KeyFile, KeyFileError, read_keys


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.json"


def is_good(tokens, signed):
    try:
        return tokens.claims(Headers.parse(bearer(signed))).sub == "alice"
    except RefusedError:
        return False


def later(path):
    """Make sure the clock of the file system has ticked."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


@pytest.mark.requirement("SE-17")
def test_new_keys_are_used_as_soon_as_the_file_changes(path):
    write_keys(path, jwk("ed"))
    tokens = Tokens(KeyFile(path), lambda: NOON)
    old, new = token("ed"), token("ed", version=1)
    assert (is_good(tokens, old), is_good(tokens, new)) == (True, False)
    write_keys(path, jwk("ed", 1), jwk("hs"))
    later(path)
    assert (is_good(tokens, old), is_good(tokens, new)) == (False, True)
    assert is_good(tokens, token("hs"))
    other = write_keys(path.with_name("new.json"), jwk("ed"))
    other.replace(path)
    assert (is_good(tokens, old), is_good(tokens, new)) == (True, False)


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("broken", ['{"keys": [', "", '{"keys": []}', '{"keys": [{}]}', None])
def test_a_broken_new_version_keeps_the_old_keys_and_is_logged_once(path, broken):
    write_keys(path, jwk("hs"))
    tokens = Tokens(KeyFile(path), lambda: NOON)
    path.unlink() if broken is None else path.write_text(broken)
    with capture_logs() as logs:
        assert is_good(tokens, token("hs"))
        assert is_good(tokens, token("hs"))
    assert [line["log_level"] for line in logs] == ["error"]
    write_keys(path, jwk("ed"))
    assert (is_good(tokens, token("hs")), is_good(tokens, token("ed"))) == (False, True)


@pytest.mark.requirement("SE-17")
def test_keys_that_cannot_be_used_are_left_out(path):
    weak = json.loads(RSAAlgorithm.to_jwk(generate_private_key(65537, 1024).public_key()))
    write_keys(
        path,
        *(7, None, {}, {"kty": ["RSA"]}, {"kty": "oct"}, {"kty": "oct", "k": 1}),
        {"kty": "oct", "kid": "short", "k": "c2hvcnQ"},
        weak | {"kid": "weak"},
        {"kty": "EC", "kid": "ec", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "kid": "x", "crv": "X25519", "x": "A" * 43},
        jwk("rs") | {"kid": "rs512", "alg": "RS512"},
        jwk("rs") | {"kid": "confused", "alg": "HS256"},
        jwk("rs") | {"kid": "enc", "use": "enc"},
        jwk("hs") | {"kid": 7},
        jwk("hs") | {"alg": "none", "kid": "none"},
        jwk("ed") | {"alg": "EdDSA", "use": "sig"},
    )
    assert [(key.kid, key.algorithm) for key in read_keys(path)] == [("ed", "EdDSA")]


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ["rs", "ed"])
def test_a_private_key_in_the_file_only_verifies(path, kid):
    kind = RSAAlgorithm if kid == "rs" else OKPAlgorithm
    write_keys(path, json.loads(kind.to_jwk(signing_key(kid))) | {"kid": kid})
    assert is_good(Tokens(KeyFile(path), lambda: NOON), token(kid))
    assert not hasattr(read_keys(path)[0].material, "sign")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"keys": {}}', "no list"),
        ('{"keys": []}', "no usable key"),
        (json.dumps({"keys": [jwk("hs"), jwk("hs", 1)]}), "share a kid"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_without_showing_it(path, content, reason):
    path.write_text(content)
    with pytest.raises(KeyFileError, match=reason) as caught:
        KeyFile(path)
    assert jwk("hs")["k"] not in str(caught.value)


def test_a_file_that_is_not_there_says_so(path):
    with pytest.raises(KeyFileError, match="No such file"):
        KeyFile(path)
    assert "secret" not in repr(read_keys(write_keys(path, jwk("hs"))))
