"""The metrics agree with cases worked out by hand."""

import pytest

from memstream.evaluation.metrics import by_category, judge, latencies, summary


@pytest.mark.parametrize(
    ("found", "gold", "recall", "all_evidence", "reciprocal_rank"),
    [
        (["a", "b", "c"], {"b"}, 1.0, True, 1 / 2),
        (["a", "b", "c"], {"b", "x"}, 0.5, False, 1 / 2),
        (["a", "b", "c"], {"c", "a"}, 1.0, True, 1.0),
        (["a"], {"x"}, 0.0, False, 0.0),
        ([], {"x"}, 0.0, False, 0.0),
    ],
)
def test_a_judgement(found, gold, recall, all_evidence, reciprocal_rank):
    one = judge(found, gold, "c", 1.0)
    assert (one.recall, one.all_evidence, one.reciprocal_rank) == (
        *(recall, all_evidence),
        pytest.approx(reciprocal_rank),
    )


def test_summaries_are_means_over_queries():
    judgements = [
        judge(["a"], {"a"}, "easy", 1.0),
        judge(["a", "b"], {"b", "c"}, "hard", 3.0),
        judge([], {"b"}, "hard", 2.0),
    ]
    assert summary(judgements) == {
        "queries": 3,
        "recall": 0.5,
        "all_evidence": 0.3333,
        "mrr": 0.5,
    }
    assert by_category(judgements)["hard"] == {
        "queries": 2,
        "recall": 0.25,
        "all_evidence": 0.0,
        "mrr": 0.25,
    }
    assert latencies(judgements)["p50_ms"] == 2.0
    assert latencies(judgements[:1]) == {"p50_ms": 1.0, "p95_ms": 1.0}
