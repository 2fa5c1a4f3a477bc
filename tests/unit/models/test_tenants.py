"""What a tenant may have its own way, and what it is served by where it has nothing."""

import json

import pytest
from pydantic import ValidationError

from models import FusionWeights, InForce, RecallWeights, ScopeWeights, TenantOverrides

CONTRACT = (
    "routing_threshold rlm_enabled reasoning_enabled reasoning_cache_ttl_s search_threshold "
    "recall_weights fusion_weights token_budget latency_budget_ms global_prior"
)
KEYS = [*CONTRACT.split(), "reply_topics"]


def test_the_keys_are_those_of_the_contract_and_each_may_be_left_out():
    assert list(TenantOverrides.model_fields) == KEYS
    assert list(InForce.model_fields) == KEYS
    assert TenantOverrides().own() == {}
    assert TenantOverrides().in_force() == InForce()


@pytest.mark.parametrize(
    "model", [TenantOverrides, InForce, RecallWeights, FusionWeights], ids=lambda m: m.__name__
)
def test_every_field_is_described(model):
    assert all(field.description for field in model.model_fields.values())


def test_the_defaults_are_those_of_the_requirements():
    served = InForce()
    assert (served.routing_threshold, served.search_threshold) == (0.3, 0.7)
    assert (served.rlm_enabled, served.reasoning_enabled, served.global_prior) == (True,) * 3
    assert (served.reasoning_cache_ttl_s, served.token_budget) == (3600, 2000)
    assert served.latency_budget_ms == 30_000
    weights = served.recall_weights
    assert (weights.relevance, weights.importance) == (0.4, 0.3)
    assert (weights.recency, weights.confidence) == (0.2, 0.1)
    assert (served.fusion_weights.vector, served.fusion_weights.keyword) == (0.7, 0.3)


def test_its_own_values_win_even_where_they_are_false_or_0():
    overrides = TenantOverrides(rlm_enabled=False, search_threshold=0.0, token_budget=7)
    served = overrides.in_force()
    assert (served.rlm_enabled, served.search_threshold, served.token_budget) == (False, 0.0, 7)
    assert served.routing_threshold == 0.3
    assert set(overrides.own()) == {"rlm_enabled", "search_threshold", "token_budget"}


def test_a_scope_may_have_weights_of_its_own():
    weights = RecallWeights.model_validate({"recency": 0, "scopes": {"work": {"recency": 0.9}}})
    assert weights.of("work") == ScopeWeights(recency=0.9)
    assert weights.of("home") is weights
    assert weights.of(None) is weights


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("routing_threshold", 1.1),
        ("routing_threshold", -0.1),
        ("routing_threshold", "0.5"),
        ("rlm_enabled", 1),
        ("reasoning_cache_ttl_s", -1),
        ("search_threshold", float("nan")),
        ("token_budget", 0),
        ("token_budget", 1.5),
        ("token_budget", 10**6 + 1),
        ("latency_budget_ms", 0),
        ("latency_budget_ms", float("inf")),
        ("recall_weights", {"recency": -1}),
        ("recall_weights", dict.fromkeys(("relevance", "importance", "recency", "confidence"), 0)),
        ("recall_weights", dict.fromkeys(("relevance", "importance"), 1e308)),
        ("recall_weights", {"scopes": {"": {}}}),
        ("recall_weights", {"scopes": {"work": {"relevance": float("inf")}}}),
        ("recall_weights", {"scopes": {str(n): {} for n in range(101)}}),
        ("fusion_weights", {"vector": 0, "keyword": 0}),
        ("fusion_weights", [0.5, 0.5]),
    ],
)
def test_what_cannot_be_served_by_is_refused(key, value):
    with pytest.raises(ValidationError, match=key):
        TenantOverrides.model_validate({key: value})


def test_a_record_survives_json():
    overrides = TenantOverrides(
        recall_weights=RecallWeights(scopes={"wörk": ScopeWeights(recency=1)}), global_prior=False
    )
    assert TenantOverrides.model_validate(json.loads(overrides.model_dump_json())) == overrides
