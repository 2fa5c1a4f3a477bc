"""What a search must answer, worked out the slow way from the text of the requirements.

Nothing of the product is used here: every memory of the tenant is looked at for every request.
"""

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta

STEM = {
    "run": "run",
    "runs": "run",
    "running": "run",
    "cat": "cat",
    "cats": "cat",
    "milk": "milk",
    "smith": "smith",
    "dog": "dog",
    "dogs": "dog",
    "garden": "garden",
}
"""All words of these memories; what they have in common was written down by hand."""

LAYERS = ("agent", "user", "session", "project", "team", "org", "company")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Memory:
    """A memory as it was written."""

    memory_id: str
    content: str
    vector: tuple[float, ...] | None
    created_at: datetime
    layer: str = "user"
    scope: str = "global"
    kind: str = "fact"
    importance: float = 5.0
    confidence: float = 1.0
    decay_rate: float = 0.0
    dated: datetime | None = None

    @property
    def stems(self):
        return [STEM[word] for word in self.content.split()]


@dataclass(frozen=True)
class Asked:
    """A request, with what the tenant has its own way."""

    query: str
    vector: tuple[float, ...] | None
    at: datetime
    mode: str
    fusion: str
    operation: str
    limit: int
    layers: tuple[str, ...] | None = None
    scope: str | None = None
    threshold: float | None = None
    min_score: float | None = None
    min_confidence: float | None = None
    own_threshold: float | None = None
    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    recall_weights: dict = field(
        default_factory=lambda: {
            "relevance": 0.4,
            "importance": 0.3,
            "recency": 0.2,
            "confidence": 0.1,
        }
    )


def effective_confidence(memory, at):
    days = max((at - memory.created_at) / DAY, 0.0)
    return memory.confidence * math.exp(-memory.decay_rate * days)


def visible(memory, asked):
    if asked.layers is not None and memory.layer not in asked.layers:
        return False
    if asked.scope is not None:
        allowed = {asked.scope} if memory.kind == "episode" else {"global", asked.scope}
        if memory.scope not in allowed:
            return False
    least = 0.2 if asked.min_confidence is None else asked.min_confidence
    return effective_confidence(memory, asked.at) >= least


def is_about(entities, named):
    """Tell whether the entity under each key is one of those named for it."""
    return all(key in entities and entities[key] in names for key, names in (named or {}).items())


def cosine(memory, asked):
    if asked.vector is None or memory.vector is None:
        return None
    return round(sum(a * b for a, b in zip(memory.vector, asked.vector, strict=True)), 6)


def keyword_score(memory, asked, tenant):
    """bm25 / (1 + bm25), with k1 = 1.2 and b = 0.75, over all memories of the tenant."""
    mean = sum(len(one.stems) for one in tenant) / len(tenant)
    total = 0.0
    for stem in dict.fromkeys(STEM[word] for word in asked.query.split()):
        having = sum(stem in one.stems for one in tenant)
        idf = math.log(1 + (len(tenant) - having + 0.5) / (having + 0.5))
        count, length = memory.stems.count(stem), len(memory.stems)
        total += idf * count * 2.2 / (count + 1.2 * (1 - 0.75 + 0.75 * length / mean))
    return total / (1 + total)


def ordered(scores):
    """Return (memory, score) by score, then newest, then id."""
    return sorted(
        scores, key=lambda one: (-one[1], -one[0].created_at.timestamp(), one[0].memory_id)
    )


def relevances(asked, tenant):
    """Return what was found, each with its relevance: by meaning, by words, or by both."""
    shown = [memory for memory in tenant if visible(memory, asked)]
    near = {memory: cosine(memory, asked) for memory in shown}
    meaning = [(one, max(value, 0.0)) for one, value in near.items() if value is not None]
    worded = [(one, keyword_score(one, asked, tenant)) for one in shown]
    worded = [(one, score) for one, score in worded if score > 0]
    has_meaning = asked.vector is not None
    if asked.mode == "keyword" or (asked.mode == "semantic" and not has_meaning):
        return worded
    if asked.mode == "semantic":
        return meaning
    if asked.fusion == "rrf":
        return _by_ranks(ordered(meaning), ordered(worded), asked.limit)
    return _by_weights(dict(meaning), dict(worded), asked, has_meaning)


def _by_ranks(meaning, worded, limit):
    ranks = [
        {memory: rank for rank, (memory, _) in enumerate(side[:limit], start=1)}
        for side in (meaning, worded)
    ]
    return [
        (memory, sum(1 / (60 + side.get(memory, limit + 1)) for side in ranks) / (2 / 61))
        for memory in dict.fromkeys(memory for memory, _ in (*meaning, *worded))
    ]


def _by_weights(meaning, worded, asked, has_meaning):
    vector = asked.vector_weight if has_meaning else 0.0
    keyword = asked.keyword_weight if has_meaning else 1.0
    return [
        (
            memory,
            (vector * meaning.get(memory, 0.0) + keyword * worded.get(memory, 0.0))
            / (vector + keyword),
        )
        for memory in dict.fromkeys([*meaning, *worded])
    ]


def faded(memory, score, at):
    """A dated file's memory loses half of its score every 30 days."""
    if memory.dated is None:
        return score
    return score * 2 ** (-max((at - memory.dated) / DAY, 0.0) / 30)


def recalled(memory, relevance, asked):
    """The four signals of a recall, each in [0, 1], by their weights."""
    signals = {
        "relevance": relevance,
        "importance": memory.importance / 10,
        "recency": 0.5 ** (max((asked.at - memory.created_at) / DAY, 0.0) / 7),
        "confidence": effective_confidence(memory, asked.at),
    }
    weights = asked.recall_weights
    return sum(weights[name] * value for name, value in signals.items()) / sum(weights.values())


def least_score(asked, has_meaning):
    """The default threshold of 0.7 is for ranks, a tenant's own for every search."""
    mode = "keyword" if asked.mode == "semantic" and not has_meaning else asked.mode
    threshold, min_score = asked.threshold, asked.min_score
    if threshold is None and asked.operation == "search":
        by_rank = mode == "hybrid" and asked.fusion in ("auto", "rrf")
        threshold = 0.7 if by_rank else 0.0
        if asked.own_threshold is not None:
            threshold = asked.own_threshold
    if min_score is None:
        min_score = 0.1 if mode == "hybrid" and asked.fusion == "weighted" else 0.0
    return max(threshold or 0.0, min_score)


def scores(asked, tenant):
    """Return the final score of everything that was found."""
    found = [
        (memory, faded(memory, score, asked.at)) for memory, score in relevances(asked, tenant)
    ]
    if asked.operation == "recall":
        found = [(memory, recalled(memory, score, asked)) for memory, score in found]
    return dict(found)


def expected(asked, tenant):
    """Return the answer: memories and scores in their order."""
    least = least_score(asked, asked.vector is not None)
    best = [(one, score) for one, score in ordered(scores(asked, tenant).items()) if score >= least]
    best = best[: asked.limit]
    if asked.operation == "search":
        best.sort(key=lambda one: LAYERS.index(one[0].layer))
    return best
