"""Fields and defaults are those of the contract."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from models import (
    LAYER_PRECEDENCE,
    Action,
    ContextAssembled,
    ContextRequest,
    ContextUsage,
    ErrorInfo,
    Feedback,
    Item,
    Outcome,
    QueryRefinement,
    ScoredMemory,
    SearchRequest,
    SearchResult,
    ServingPolicy,
    SessionAbandonment,
    Shown,
    Trajectory,
)

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)

# As CONTRACT.md writes them: a question mark for what may be left out, = for a default.
CONTRACT = {
    SearchRequest: 'request_id tenant_id session_id query="" operation="search" user_id? layers? '
    'scope? mode="hybrid" fusion="auto" strategy? limit=10 threshold? min_score? min_confidence? '
    "filters? memory_ids? requested_at?",
    SearchResult: "request_id tenant_id session_id status results degraded error completed_at",
    ScoredMemory: "memory_id layer scope kind content score similarity created_at metadata",
    ErrorInfo: "code message",
    ContextRequest: "request_id tenant_id session_id query token_budget=2000 layers? scope?",
    ContextAssembled: "request_id tenant_id session_id status context memory_ids tokens degraded "
    "error completed_at",
    Item: 'event_id tenant_id memory_id op="upsert" content? layer="user" scope="global" '
    'kind="fact" importance=5.0 confidence=1.0 decay_rate=0.0 session_id? position? entities? '
    "source_path? metadata? created_at? last_confirmed_at?",
    ContextUsage: "event_id tenant_id session_id request_id memory_ids quality_score=1.0 "
    "occurred_at?",
    QueryRefinement: "event_id tenant_id session_id request_id new_query new_request_id? "
    "occurred_at?",
    SessionAbandonment: "event_id tenant_id session_id request_id? occurred_at?",
    Feedback: "event_id tenant_id session_id request_id quality_score memory_id? occurred_at?",
    Trajectory: "trajectory_id request_id tenant_id session_id revision query complexity_score "
    "signals route actions shown outcome used=() reward trainable tokens_used max_depth "
    "result_count fallback? policy_version started_at completed_at labelled_at",
    Action: "kind params depth started_at duration_ms tokens result_count propensity",
    Shown: "memory_id rank propensity features",
    Outcome: "type quality_score? new_query?",
    ServingPolicy: "tenant_id version weights exploration_rate updated_at",
}


def written(name, field):
    if field.default is PydanticUndefined:
        return name
    if field.default is None:
        return f"{name}?"
    value = f'"{field.default}"' if isinstance(field.default, str) else field.default
    return f"{name}={value}"


@pytest.mark.parametrize("model", CONTRACT, ids=lambda model: model.__name__)
def test_fields_and_defaults(model):
    fields = {written(name, field) for name, field in model.model_fields.items()}
    assert fields == set(CONTRACT[model].split())


@pytest.mark.parametrize("model", CONTRACT, ids=lambda model: model.__name__)
def test_nothing_reads_the_clock_or_invents_ids(model):
    assert all(field.default_factory is None for field in model.model_fields.values())


@pytest.mark.parametrize("model", CONTRACT, ids=lambda model: model.__name__)
def test_every_field_is_described(model):
    assert all(field.description for field in model.model_fields.values())


def test_the_more_specific_layer_comes_first():
    expected = ("agent", "user", "session", "project", "team", "org", "company")
    assert expected == LAYER_PRECEDENCE


@pytest.mark.parametrize("operation", ["search", "recall"])
def test_a_search_needs_a_query(operation):
    with pytest.raises(ValidationError, match=f"query: missing or empty; {operation} needs it"):
        SearchRequest(request_id="r", tenant_id="t", session_id="s", operation=operation)


def test_a_get_needs_ids_and_no_query():
    got = SearchRequest(
        request_id="r", tenant_id="t", session_id="s", operation="get", memory_ids=["m"]
    )
    assert (got.query, got.memory_ids) == ("", ("m",))
    with pytest.raises(ValidationError, match="memory_ids: missing"):
        SearchRequest(request_id="r", tenant_id="t", session_id="s", operation="get", query="tea")


def test_an_upsert_needs_content_and_a_delete_does_not():
    assert Item(event_id="e", tenant_id="t", memory_id="m", op="delete").content is None
    with pytest.raises(ValidationError, match="content: missing"):
        Item(event_id="e", tenant_id="t", memory_id="m")


@pytest.mark.parametrize("answer", [SearchResult, ContextAssembled])
def test_a_failure_is_an_answer_like_any_other(answer):
    error = ErrorInfo(code="invalid_request", message="tenant_id: missing")
    failed = answer.failure(
        request_id="r", tenant_id="", session_id="s", error=error, completed_at=NOW
    )
    assert (failed.status, failed.error, failed.request_id) == ("error", error, "r")
    assert failed.model_dump().keys() == answer.model_fields.keys()


@pytest.mark.parametrize(
    ("status", "error"), [("ok", ErrorInfo(code="internal", message="")), ("error", None)]
)
def test_a_status_does_not_contradict_its_error(status, error):
    with pytest.raises(ValidationError, match="error"):
        SearchResult(
            request_id="r",
            tenant_id="t",
            session_id="s",
            status=status,
            results=(),
            degraded=False,
            error=error,
            completed_at=NOW,
        )


def test_a_propensity_can_be_divided_by():
    with pytest.raises(ValidationError, match="propensity"):
        Shown(memory_id="m", rank=1, propensity=0.0, features={})
