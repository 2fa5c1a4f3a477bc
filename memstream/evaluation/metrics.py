"""How good a list of results is, given the memories that answer the question."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one query."""

    category: str
    recall: float
    all_evidence: bool
    reciprocal_rank: float
    ms: float


def judge(found: Sequence[str], gold: Collection[str], category: str, ms: float) -> Judgement:
    """Hold the results of a query, best first, against its gold."""
    hits = set(found) & set(gold)
    first = next((rank for rank, memory in enumerate(found, start=1) if memory in hits), None)
    return Judgement(
        category=category,
        recall=len(hits) / len(gold),
        all_evidence=len(hits) == len(gold),
        reciprocal_rank=1 / first if first else 0.0,
        ms=ms,
    )


def summary(judgements: Sequence[Judgement]) -> dict[str, float | int]:
    """Return means over queries, rounded to what a few hundred queries can tell apart."""
    return {
        "queries": len(judgements),
        "recall": round(fmean(one.recall for one in judgements), 4),
        "all_evidence": round(fmean(one.all_evidence for one in judgements), 4),
        "mrr": round(fmean(one.reciprocal_rank for one in judgements), 4),
    }


def by_category(judgements: Iterable[Judgement]) -> dict[str, dict[str, float | int]]:
    """Return the summary of each category."""
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in judgements:
        groups[one.category].append(one)
    return {name: summary(group) for name, group in sorted(groups.items())}


def latencies(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Return the median and the 95th percentile of the search times."""
    times = [one.ms for one in judgements]
    p95 = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {"p50_ms": round(median(times), 2), "p95_ms": round(p95, 2)}
