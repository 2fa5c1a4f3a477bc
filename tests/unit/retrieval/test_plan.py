"""What a request comes to: the mode, the layers, how many to look at and the least score."""

import pytest

from models import SearchRequest, TenantOverrides
from retrieval.plan import BEST, SPARE, named_layers, plan


def planned(own=None, has_embedder=True, **fields):
    given = {"request_id": "r", "tenant_id": "t", "session_id": "s", "query": "cat"} | fields
    overrides = TenantOverrides.model_validate(own or {})
    return plan(SearchRequest.model_validate(given), overrides, has_embedder)


@pytest.mark.requirement("SE-4")
def test_by_default_both_sides_are_ranked_by_the_learned_recipe():
    assert (planned().mode, planned().fusion, planned().is_ranked) == ("hybrid", "auto", True)
    assert not planned(fusion="rrf").is_ranked
    assert not planned(mode="semantic").is_ranked
    assert not planned(mode="keyword").is_ranked


@pytest.mark.requirement("SE-12")
@pytest.mark.parametrize(
    ("mode", "expected"), [("hybrid", "hybrid"), ("semantic", "keyword"), ("keyword", "keyword")]
)
def test_without_an_embedder_meaning_gives_way_to_words(mode, expected):
    assert planned(mode=mode, has_embedder=False).mode == expected
    assert planned(mode=mode).mode == mode


@pytest.mark.parametrize(
    ("fields", "mode", "layers"),
    [
        ({"strategy": "exhaustive", "mode": "keyword", "layers": ["team"]}, "hybrid", None),
        ({"strategy": "semantic-only", "layers": ["team"]}, "semantic", ("team",)),
        ({"strategy": "targeted"}, "hybrid", None),
        ({"strategy": "targeted", "query": "what our teams decided"}, "hybrid", ("team",)),
        ({"strategy": "targeted", "query": "team", "layers": ["org"]}, "hybrid", ("org",)),
        ({"query": "what our team decided"}, "hybrid", None),
        ({"layers": ["org"]}, "hybrid", ("org",)),
    ],
)
def test_a_strategy_spreads_or_narrows(fields, mode, layers):
    assert (planned(**fields).mode, planned(**fields).layers) == (mode, layers)
    assert planned(has_embedder=False, strategy="semantic-only").mode == "keyword"


@pytest.mark.requirement("SE-6")
def test_layers_are_named_in_the_order_of_their_precedence():
    assert named_layers("Companies and users") == ("user", "company")
    assert named_layers("cat") is None


def test_as_many_are_looked_at_as_ranking_needs():
    assert planned().best == BEST
    assert planned(limit=100).best == max(BEST, 100)
    assert planned(limit=7, mode="semantic").best == 7 + SPARE


RANKED = [{}, {"fusion": "rrf"}, {"strategy": "exhaustive", "mode": "keyword"}]
PLAIN = [{"mode": "semantic"}, {"mode": "keyword"}, {"strategy": "semantic-only"}]


@pytest.mark.requirement("SE-5")
@pytest.mark.parametrize(
    ("fields", "least"),
    [
        *((fields, 0.7) for fields in RANKED),
        *((fields, 0.0) for fields in PLAIN),
        ({"fusion": "weighted"}, 0.1),
        ({"fusion": "weighted", "mode": "semantic"}, 0.0),
        ({"fusion": "weighted", "min_score": 0}, 0.0),
        ({"fusion": "weighted", "min_score": 0.4}, 0.4),
        ({"fusion": "weighted", "threshold": 0.4}, 0.4),
        ({"fusion": "weighted", "threshold": 0.05}, 0.1),
        ({"threshold": 0}, 0.0),
        ({"threshold": 0, "min_score": 0.3}, 0.3),
        ({"threshold": 0.5, "min_score": 0.3}, 0.5),
        ({"mode": "semantic", "threshold": 0.5}, 0.5),
        ({"mode": "keyword", "min_score": 0.3}, 0.3),
        ({"min_score": 0.3}, 0.7),
        ({"operation": "recall"}, 0.0),
        ({"operation": "recall", "fusion": "rrf"}, 0.0),
        ({"operation": "recall", "fusion": "weighted"}, 0.1),
        ({"operation": "recall", "threshold": 0.2}, 0.2),
        ({"operation": "recall", "min_score": 0.2}, 0.2),
    ],
)
def test_the_least_score(fields, least):
    assert planned(**fields).least == least


@pytest.mark.requirement("SE-5")
@pytest.mark.parametrize("fields", [*RANKED, *PLAIN, {"fusion": "weighted"}])
def test_a_tenants_own_threshold_holds_in_every_search_and_in_no_recall(fields):
    own = {"search_threshold": 0.35}
    assert planned(own, **fields).least == 0.35
    assert planned(own, **fields, threshold=0.2).least == 0.2
    none = 0.1 if "fusion" in fields and fields["fusion"] == "weighted" else 0.0
    assert planned(own, **fields, operation="recall").least == none
    assert planned({"search_threshold": 0.0}, **fields).least == none
