"""What people type after `memstream tenant set`, and what they are told when it is wrong."""

import pytest

from memstream.tenant_values import ALLOWED, TenantValueError, check_tenant, read_changes
from models import TenantOverrides
from topics import DecodeError


def test_every_key_says_what_is_allowed():
    assert list(ALLOWED) == list(TenantOverrides.model_fields)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("routing_threshold=0.5", 0.5),
        (" routing_threshold = 1 ", 1),
        ("reasoning_cache_ttl_s=0", 0),
        ("token_budget=4000", 4000),
        ("latency_budget_ms=2.5e2", 250.0),
        *((f"rlm_enabled={word}", True) for word in ("true", "on", "yes", "TRUE", "Yes")),
        *((f"global_prior={word}", False) for word in ("false", "off", "no", "OFF")),
        ("reply_topics=acme.replies", ["acme.replies"]),
        ("reply_topics=acme.replies, acme.app.*", ["acme.replies", "acme.app.*"]),
        ('reply_topics=["*"]', ["*"]),
        ("reply_topics=[]", []),
        ("reply_topics=7", ["7"]),
        ("fusion_weights=0.6,0.4", {"vector": 0.6, "keyword": 0.4}),
        ("fusion_weights=0.6, 0.4", {"vector": 0.6, "keyword": 0.4}),
        ("fusion_weights=keyword=0.9", {"keyword": 0.9}),
        ('fusion_weights={"vector": 1}', {"vector": 1}),
        ("recall_weights=relevance=0.6,value=0.2", {"relevance": 0.6, "value": 0.2}),
        ("recall_weights=relevance=0.6, recency=0", {"relevance": 0.6, "recency": 0.0}),
        (
            "recall_weights=4,3,2,1",
            {"relevance": 4.0, "importance": 3.0, "recency": 2.0, "confidence": 1.0},
        ),
        (
            'recall_weights={"scopes": {"a=b": {"recency": 1}}}',
            {"scopes": {"a=b": {"recency": 1}}},
        ),
    ],
)
def test_values_are_read_as_they_are_meant(typed, value):
    ((_, read),) = read_changes([typed]).items()
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("key", ALLOWED)
@pytest.mark.parametrize("nothing", ["", " ", "default", "null"])
def test_every_override_can_be_removed(key, nothing):
    assert read_changes([f"{key}={nothing}"]) == {key: None}


@pytest.mark.parametrize(
    "typed",
    [
        "routing_threshold=1.5",
        "routing_threshold=half",
        "routing_threshold=true",
        "routing_threshold=NaN",
        'routing_threshold="0.5"',
        "rlm_enabled=1",
        "rlm_enabled=maybe",
        "reply_topics=a b",
        "reply_topics=a,",
        "reply_topics=a.*.b",
        "reply_topics=[7]",
        f"reply_topics={'x' * 250}",
        "reasoning_cache_ttl_s=-1",
        "token_budget=0",
        "token_budget=2000.5",
        f"token_budget={'9' * 5000}",
        "latency_budget_ms=0",
        "latency_budget_ms=1e999",
        "fusion_weights=0.5",
        "fusion_weights=0.5,0.3,0.2",
        "fusion_weights=0,0",
        "fusion_weights=nan,1",
        "fusion_weights=keywords=0.5",
        "fusion_weights=0.5,keyword=0.5",
        "recall_weights=0.7,0.3",
        "recall_weights=a,b,c,d",
        'recall_weights={"relevence": 0.6}',
        'recall_weights={"scopes": {"work": {"scopes": {}}}}',
        f"recall_weights={'[' * 100_000}",
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed_in_one_line(typed):
    key, _, text = typed.partition("=")
    with pytest.raises(TenantValueError) as caught:
        read_changes(["rlm_enabled=on", typed])
    message = str(caught.value)
    assert message.startswith(f"{key} is '{text[:100]}")
    assert ALLOWED[key] in message
    assert len(message.splitlines()) == 1
    assert len(message) < 500


@pytest.mark.parametrize("typed", ["shoe_size=43", "=1", "routing-threshold=1", "", "\x1b[31m=\n"])
def test_an_unknown_key_is_named_with_those_there_are(typed):
    with pytest.raises(TenantValueError, match=r"no such key; there are routing_.*prior"):
        read_changes([typed])


def test_a_key_without_a_value_and_nothing_at_all_are_told_what_to_write():
    with pytest.raises(TenantValueError, match="write token_budget=VALUE"):
        read_changes(["token_budget"])
    with pytest.raises(TenantValueError, match="write KEY=VALUE; keys are routing_threshold"):
        read_changes([])


@pytest.mark.parametrize("tenant_id", ["", "x" * 257, "a\nb", "\x00", "\udcff"])
def test_a_tenant_is_checked_as_everywhere(tenant_id):
    with pytest.raises(DecodeError):
        check_tenant(tenant_id)
    assert check_tenant("käse/☕") == "käse/☕"
