"""What the ranker looks at, by name.

All of it is generic: a memory without a session has 0 for whatever is about sessions, one without
a title 0 for whatever is about titles. A memory's own features count a second time inside sessions,
because a turn of a conversation and a paragraph of a document want different mixtures.
"""

import numpy as np

from retrieval.ranking.evidence import Column, Evidence, Places
from storage import words

OWN = ("cosine", "bm25", "coverage", "title", "length")
GROUPS: dict[str, tuple[str, ...]] = {
    "meaning": ("cosine", "plain cosine", "in session: cosine"),
    "words": ("bm25", "coverage", "in session: bm25", "in session: coverage"),
    "title": ("title", "in session: title"),
    "length": ("length", "in session: length"),
    "mentions": ("mentioned by the best",),
    "joined": ("joined cosine", "joined bm25", "joined coverage"),
    "session": ("session words", "session cosine"),
    "neighbours": (
        *("previous cosine", "next cosine"),
        *("second previous cosine", "second next cosine"),
    ),
    "dialogue": ("question", "after a question"),
}
"""The techniques the features belong to; each can be switched off by its name."""

FEATURES = (
    *(*OWN, "plain cosine", "mentioned by the best"),
    *(f"in session: {name}" for name in OWN),
    *GROUPS["joined"],
    *GROUPS["session"],
    *GROUPS["neighbours"],
    *GROUPS["dialogue"],
)

MENTIONING = 5
"""So many of the best are read for titles of other memories."""


def features(evidence: Evidence, query: str, best: int) -> Column:
    """Return a row of features for each hit, given how many were brought by each side."""
    cosine = evidence.cosine
    nearest = _scaled(cosine, _worst_of_best(cosine, best))
    worded = _scaled(evidence.bm25)
    asked = set(words.asked(query).terms)
    titles = [hit.title.split() for hit in evidence.hits]
    own = [
        *(nearest, worded, _coverage(evidence, evidence.counts)),
        np.array([len(asked & {*title}) / len({*title}) if title else 0.0 for title in titles]),
        np.log1p(evidence.length),
    ]
    columns = [*own, cosine, _mentioned(evidence, nearest + worded)]
    columns += [evidence.inside * column for column in own]
    columns += _joined(evidence)
    columns += _of_session(evidence)
    sides = (evidence.previous, evidence.next)
    columns += [evidence.beside(cosine, side) for side in sides]
    columns += [evidence.beside(evidence.beside(cosine, side), side) for side in sides]
    columns += _dialogue(evidence)
    return np.stack(columns, axis=1)


def _joined(evidence: Evidence) -> list[Column]:
    """Return what a memory gains by being read together with the one before it."""
    before, cosine, inside = evidence.previous, evidence.cosine, evidence.inside
    counts = evidence.counts + evidence.beside(evidence.counts, before)
    lengths = evidence.length + evidence.beside(evidence.length, before)
    likeness = np.array([hit.likeness or 0.0 for hit in evidence.hits])
    # The cosine to the sum of two unit vectors, without either of them.
    pair = (cosine + evidence.beside(cosine, before)) / np.sqrt(np.maximum(2 + 2 * likeness, 1e-6))
    return [
        np.where(before >= 0, pair - cosine, 0.0),
        inside * _scaled(evidence.words_fit(counts, lengths, texts=2)),
        inside * _coverage(evidence, counts),
    ]


def _of_session(evidence: Evidence) -> list[Column]:
    """Return how well the found part of a memory's session fits as a whole."""
    session = evidence.session
    count = int(session.max(initial=-1)) + 1
    if count == 0:
        return [np.zeros(len(session))] * 2
    members = np.flatnonzero(session >= 0)
    highest = np.full(count, -1.0)
    np.maximum.at(highest, session[members], evidence.cosine[members])
    worded = np.zeros(count)
    for weight, row in zip(evidence.weights, evidence.counts, strict=True):
        total = np.bincount(session[members], row[members], count)
        worded += weight * total / (total + 1.2)
    return [evidence.inside * values[session] for values in (_scaled(worded), highest)]


def _dialogue(evidence: Evidence) -> list[Column]:
    asks = np.array([float("?" in hit.content) for hit in evidence.hits])
    return [evidence.inside * asks, evidence.beside(asks, evidence.previous)]


def _mentioned(evidence: Evidence, scores: Column) -> Column:
    """Return 1/rank of the best memory that names this one's title: a hop without a search."""
    found = np.zeros(len(evidence.hits))
    titled = [
        (n, f" {hit.title} ")
        for n, hit in enumerate(evidence.hits)
        if hit.session_id is None and len(hit.title) > 2
    ]
    for rank, best in enumerate(_best(scores, MENTIONING) if titled else (), start=1):
        text = f" {' '.join(words.terms(evidence.hits[best].content))} "
        for n, title in titled:
            if n != best and not found[n] and title in text:
                found[n] = 1 / rank
    return found


def _best(scores: Column, count: int) -> Places:
    return np.argsort(-scores, kind="stable")[:count]


def _worst_of_best(values: Column, count: int) -> float:
    """Return the lowest of the highest values: what did not get in is lower."""
    return float(np.sort(values)[-min(count, len(values))])


def _scaled(values: Column, zero: float = 0.0) -> Column:
    """Return the values so that the highest is 1."""
    return (values - zero) / max(float(values.max()) - zero, 1e-9)


def _coverage(evidence: Evidence, counts: Column) -> Column:
    """Return how much of what was asked for is there at all."""
    weight = np.array(evidence.weights)
    covered: Column = weight @ (counts > 0) / max(float(weight.sum()), 1e-9)
    return covered
