"""What the ranker looks at, by name.

All of it is generic: a memory without a session has 0 for whatever is about sessions, one without
a title 0 for whatever is about titles. A memory's own features count a second time inside sessions,
because a turn of a conversation and a paragraph of a document want different mixtures.
"""

from collections import defaultdict
from collections.abc import Set

import numpy as np

from retrieval.ranking.evidence import Column, Evidence, numbers
from retrieval.ranking.highest import SCORE_DIGITS, first_and_ties
from retrieval.ranking.named_time import named_time
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
    "time": ("named time",),
    "value": ("value",),
    "questions": ("asked before",),
}
"""The techniques the features belong to; each can be switched off by its name."""

FEATURES = (
    *(*OWN, "plain cosine", "mentioned by the best"),
    *(f"in session: {name}" for name in OWN),
    *GROUPS["joined"],
    *GROUPS["session"],
    *GROUPS["neighbours"],
    *GROUPS["dialogue"],
    *GROUPS["time"],
    *GROUPS["value"],
    *GROUPS["questions"],
)

MENTIONING = 5
"""So many of the best are read for titles of other memories."""

SHARED = 5
"""A title that more of the hits share is not hopped to."""


def features(evidence: Evidence, query: str, best: int) -> Column:
    """Return a row of features for each hit, given how many were brought by each side."""
    cosine = evidence.cosine
    nearest = _scaled(cosine, _worst_of_best(cosine, best))
    worded = _scaled(evidence.bm25)
    asked = set(words.asked(query).terms)
    coverage = _coverage(evidence, evidence.counts)
    own = [
        # Where not even the best has more than a name of what was asked, words tell little.
        *(nearest, worded * float(coverage.max(initial=0.0)), coverage),
        _titled(evidence, asked),
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
    columns.append(_of_named_time(evidence, query))
    # How often it was used when it was looked at, whatever was asked.
    columns.append(numbers(evidence.told.value))
    columns.append(_asked_before(evidence, query))
    return np.stack(columns, axis=1)


def _titled(evidence: Evidence, asked: Set[str]) -> Column:
    """Return how much of each title was asked for."""
    stems = {title: {*title.split()} for title in {*evidence.told.title}}
    share = {title: len(asked & own) / len(own) if own else 0.0 for title, own in stems.items()}
    return np.array([share[title] for title in evidence.told.title])


def _joined(evidence: Evidence) -> list[Column]:
    """Return what a memory gains by being read together with the one before it."""
    before, cosine, inside = evidence.previous, evidence.cosine, evidence.inside
    counts = evidence.counts + evidence.beside(evidence.counts, before)
    lengths = evidence.length + evidence.beside(evidence.length, before)
    likeness = numbers(evidence.told.likeness)
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
    asks = np.array(["?" in content for content in evidence.told.content], float)
    return [evidence.inside * asks, evidence.beside(asks, evidence.previous)]


def _of_named_time(evidence: Evidence, query: str) -> Column:
    """Return 1 for what came to be in a month that the query names."""
    named = named_time(query)
    if not named:
        return np.zeros(len(evidence.hits))
    return np.array([named.has(created_at) for created_at in evidence.told.created_at], float)


def _asked_before(evidence: Evidence, query: str) -> Column:
    """Return how much more often than usual each was used when something like it was asked.

    Of what a memory was looked at for, the question that is most like the query counts, as much as
    it is like it; of those that are as much like it, the newest.
    """
    asked, usual = {*words.gist(query).split()}, evidence.found.mean_rate
    found = np.zeros(len(evidence.hits))
    if not asked or usual is None:
        return found
    for place, questions in enumerate(evidence.told.questions):
        closest = 0.0
        for question, exposure, use in questions:
            before = {*question.split()}
            likeness = len(asked & before) / len(asked | before)
            if likeness and likeness >= closest:
                closest = likeness
                found[place] = likeness * (use - exposure * usual) / (exposure + 1)
    return found


def _mentioned(evidence: Evidence, scores: Column) -> Column:
    """Return 1/rank of the best memory that names this one's title: a hop without a search.

    A title that many share is that of a speaker or of a kind, and says nothing about any of them.
    """
    hits, found = evidence.hits, np.zeros(len(evidence.hits))
    places: defaultdict[str, list[int]] = defaultdict(list)
    told = evidence.told
    for place, (session_id, title) in enumerate(zip(told.session_id, told.title, strict=True)):
        if session_id is None and len(title) > 2:
            places[title].append(place)
    titled = {title: own for title, own in places.items() if len(own) <= SHARED}
    for rank, best in enumerate(_best(evidence, scores, MENTIONING) if titled else (), start=1):
        text = f" {' '.join(words.terms(hits[best].content))} "
        for title, own in titled.items():
            if title != hits[best].title and not found[own[0]] and f" {title} " in text:
                found[own] = 1 / rank
    return found


def _best(evidence: Evidence, scores: Column, count: int) -> list[int]:
    """Return the places of the highest scores; ties as everywhere: the newest, then by id."""
    rounded, hits = scores.round(SCORE_DIGITS), evidence.hits
    places = first_and_ties(rounded, count)
    places.sort(key=lambda place: hits[place].memory_id)
    places.sort(key=lambda place: (rounded[place], hits[place].created_at), reverse=True)
    return places[:count]


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
