"""Tokens: good ones tell who sends, every other is refused and never repeated."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import Item, SearchRequest, SessionAbandonment
from tests.unit.tokens import NOON, bearer, claims, jwk, signing_key, token, write_keys
from topics import Headers, RefusedError
from topics.auth import (
    MAX_TOKEN_CHARACTERS,
    Claims,
    Tokens,
    allow_item,
    allow_request,
    allow_signal,
)
from topics.jwks import KeyFile

ALL = ("hs", "rs", "ed")


@pytest.fixture
def key_path(tmp_path):
    return write_keys(tmp_path / "keys.json", *(jwk(kid) for kid in ALL))


@pytest.fixture
def tokens(key_path):
    return Tokens(KeyFile(key_path), lambda: NOON)


def read(tokens, signed):
    return tokens.claims(Headers.parse(bearer(signed)))


def refusal(tokens, signed):
    with pytest.raises(RefusedError) as caught:
        read(tokens, signed)
    assert caught.value.code == "unauthorized"
    assert signed not in caught.value.message
    return caught.value.message


def segment(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def by_hand(header, payload, secret=None):
    signed = f"{segment(header)}.{segment(payload)}"
    mac = hmac.digest(secret, signed.encode(), hashlib.sha256) if secret else b""
    return f"{signed}.{segment(mac)}"


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ALL)
def test_a_good_token_of_each_algorithm_tells_who_sends(tokens, kid):
    found = read(tokens, token(kid, roles=["reader"], layers=["user"]))
    assert (found.tenant, found.sub) == ("acme", "alice")
    assert (found.roles, found.layers) == (("reader",), ("user",))


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ALL)
def test_a_token_signed_with_another_key_of_the_same_kind_is_refused(tokens, kid):
    assert "signature" in refusal(tokens, token(kid, version=1))


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ALL)
def test_changed_claims_are_refused(tokens, kid):
    header, _, signature = token(kid).split(".")
    forged = f"{header}.{segment(claims(tenant='umbrella'))}.{signature}"
    assert "signature" in refusal(tokens, forged)


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ALL)
@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, "HS512", "RS512", 1])
def test_an_algorithm_that_is_not_the_keys_is_refused(tokens, kid, alg):
    for secret in (None, signing_key("hs")):
        refusal(tokens, by_hand({"alg": alg, "kid": kid}, claims(), secret))


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("kid", ["rs", "ed"])
def test_a_public_key_is_no_secret(tokens, kid):
    public = signing_key(kid).public_key()
    spki = PublicFormat.SubjectPublicKeyInfo
    known = [public.public_bytes(form, spki) for form in (Encoding.PEM, Encoding.DER)]
    for secret in [*known, json.dumps(jwk(kid)).encode()]:
        forged = by_hand({"alg": "HS256", "kid": kid}, claims(), secret)
        assert "alg" in refusal(tokens, forged)


@pytest.mark.requirement("SE-17")
def test_a_token_cannot_bring_its_own_key(tokens):
    own = {"alg": "HS256", "kid": "hs", "jwk": jwk("hs", 1), "jku": "https://evil.example/keys"}
    assert "signature" in refusal(tokens, by_hand(own, claims(), signing_key("hs", 1)))


@pytest.mark.requirement("SE-17")
def test_the_key_is_the_one_that_the_kid_names(tokens, tmp_path):
    assert "kid" in refusal(tokens, token(headers={"kid": "other"}))
    assert "kid" in refusal(tokens, token(headers={}))
    assert "signature" in refusal(tokens, jwt.encode(claims(), b"?" * 32, headers={"kid": "hs"}))
    only = Tokens(KeyFile(write_keys(tmp_path / "one.json", jwk("ed"))), lambda: NOON)
    assert read(only, token("ed", headers={})).sub == "alice"
    assert "kid" in refusal(only, token("ed", headers={"kid": "other"}))


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(
    ("claim", "good", "bad"), [("exp", -29.9, -30), ("nbf", 30, 30.1), ("iat", 30, 30.1)]
)
def test_times_hold_with_thirty_seconds_of_skew(tokens, claim, good, bad):
    now = NOON.timestamp()
    assert read(tokens, token(**{claim: now + good})).sub == "alice"
    message = refusal(tokens, token(**{claim: now + bad}))
    assert ("expired" if claim == "exp" else "not valid yet") in message


@pytest.mark.requirement("SE-17")
def test_a_token_expires_by_the_clock_it_is_checked_with(key_path):
    late = Tokens(KeyFile(key_path), lambda: NOON + timedelta(hours=1))
    assert "expired" in refusal(late, token())


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(
    ("claim", "value"),
    [
        *((claim, ...) for claim in ("tenant", "sub", "roles", "exp")),
        *((claim, None) for claim in ("tenant", "sub", "roles", "layers", "exp", "nbf", "iat")),
        *((claim, value) for claim in ("tenant", "sub") for value in ("", 1, ["acme"], "a\nb")),
        *(("roles", value) for value in ("cross_tenant_read", [1], {"cross_tenant_read": True})),
        *(("layers", value) for value in ("user", ["galaxy"], [["user"]])),
        *((claim, value) for claim in ("exp", "nbf") for value in ("1e99", True, [])),
    ],
)
def test_a_claim_missing_or_of_the_wrong_type_is_refused_by_name(tokens, claim, value):
    assert refusal(tokens, token(**{claim: value})).endswith(f"malformed: {claim}")


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize("payload", [b"[]", b"null", b"{", b"\xff", b"[" * 5000, b'{"exp":NaN}'])
def test_a_payload_that_is_no_object_is_refused(tokens, payload):
    refusal(tokens, by_hand({"alg": "HS256", "kid": "hs"}, payload, signing_key("hs")))


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(
    "header", [b"[" * 5000, b"1" * 5000, b"[]", b"{}", b"\xff", b'{"alg":"HS256","kid":1}']
)
def test_a_header_that_makes_no_sense_is_refused(tokens, header):
    refusal(tokens, by_hand(header, claims(), signing_key("hs")))


@pytest.mark.requirement("SE-17")
def test_what_must_be_understood_and_is_not_is_refused(tokens):
    header = {"alg": "HS256", "kid": "hs", "crit": ["exp2"], "exp2": 1}
    refusal(tokens, by_hand(header, claims(), signing_key("hs")))


@pytest.mark.requirement("SE-17")
def test_no_header_or_another_scheme_or_an_endless_token_is_refused(tokens):
    for headers in ([], [("authorization", None)], [("authorization", b"Basic YTpi")]):
        with pytest.raises(RefusedError, match="Bearer and a JWT") as caught:
            tokens.claims(Headers.parse(headers))
        assert caught.value.code == "unauthorized"
    assert "characters" in refusal(tokens, token(tenant="x" * MAX_TOKEN_CHARACTERS))


@pytest.mark.requirement("SE-17")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_sent_is_refused_and_never_fails_otherwise(tokens, text, at):
    parts = token().split(".")
    parts[at : at + 1] = ["".join(text.split())]
    changed = ".".join(parts)
    if changed != token():
        with pytest.raises(RefusedError):
            tokens.claims(Headers(token=changed))


def asked(**fields):
    return SearchRequest(request_id="r", tenant_id="acme", session_id="s", query="q", **fields)


def bearing(**changed):
    return Claims.model_validate_json(json.dumps(claims(**changed)))


@pytest.mark.requirement("SE-17")
def test_a_request_stays_within_the_layers_of_its_token():
    some = bearing(layers=["user", "org"])
    assert allow_request(some, asked()).layers == ("user", "org")
    assert allow_request(some, asked(layers=["org"])).layers == ("org",)
    for layers in (["team"], ["user", "team"]):
        with pytest.raises(RefusedError, match="does not allow team") as caught:
            allow_request(some, asked(layers=layers))
        assert caught.value.code == "forbidden"
    with pytest.raises(RefusedError, match="allows none"):
        allow_request(bearing(layers=[]), asked())
    assert allow_request(bearing(), asked()) == asked()


@pytest.mark.requirement("SE-17", "SE-1")
def test_another_tenant_is_read_with_the_role_only_and_never_written():
    elevated = bearing(tenant="umbrella", roles=["cross_tenant_read"], layers=["user"])
    assert allow_request(elevated, asked()).layers == ("user",)
    item = Item(event_id="e", tenant_id="acme", memory_id="m", content="c")
    signal = SessionAbandonment(event_id="e", tenant_id="acme", session_id="s")
    near_miss = bearing(tenant="umbrella", roles=["cross_tenant", "CROSS_TENANT_READ"])
    for refused in (
        lambda: allow_request(near_miss, asked()),
        lambda: allow_request(elevated, asked(layers=["org"])),
        lambda: allow_item(elevated, item),
        lambda: allow_item(bearing(tenant="Acme"), item),
        lambda: allow_item(bearing(layers=["org"]), item),
        lambda: allow_signal(elevated, signal),
        lambda: allow_signal(bearing(tenant="acme "), signal),
    ):
        with pytest.raises(RefusedError) as caught:
            refused()
        assert caught.value.code == "forbidden"
    allow_item(bearing(layers=["user"]), item)
    allow_signal(bearing(layers=[]), signal)
