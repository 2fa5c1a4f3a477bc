"""Everything the searches for a question brought, as rows of features for the second ranking."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from retrieval.decomposition.follow_ups import FollowUp
from retrieval.decomposition.links import LINKS, links
from retrieval.decomposition.questions import asks_for_several
from retrieval.ranking import FEATURES, Evidence, features
from retrieval.ranking.evidence import Column
from storage import Hit

QUERIED = FEATURES[: FEATURES.index("named time")]
"""What a topic may change; time and value have had their say in the first ranking."""
OF_TOPIC = FEATURES[:3]
"""What of the topic weighs differently when several memories are asked for."""
ASKED_FOR = tuple(
    name
    for name in QUERIED
    if name == "plain cosine" or not (name in FEATURES[:5] or name == "mentioned by the best")
)
"""What weighs differently in a conversation when several memories are asked for."""
SUPPORT = (
    *("found", "cosine", "plain cosine", "bm25", "same session"),
    *("in session: found", "in session: cosine", "in session: plain cosine", "in session: bm25"),
)
"""What is also averaged over all follow-ups: a memory that many lead to."""
GROUPS: dict[str, tuple[str, ...]] = {
    "first": ("first", "in session: first", "outside"),
    "topic": (*(f"topic: {name}" for name in QUERIED), "outside topic"),
    "several": (
        *(f"several: {name}" for name in ASKED_FOR),
        *(f"several: topic: {name}" for name in OF_TOPIC),
    ),
    "support": tuple(f"support: {name}" for name in SUPPORT),
    "links": tuple(f"link: {name}" for name in LINKS),
}
"""The techniques the features belong to; each can be left out of a fit by its name."""
OWN = tuple(name for group in list(GROUPS)[:-1] for name in GROUPS[group])


@dataclass(frozen=True)
class Asking:
    """A search that was made, with the query it was made for and how many each side brought."""

    evidence: Evidence
    query: str
    best: int

    @cached_property
    def rows(self) -> Column:
        """The features of the standard ranking."""
        if not self.evidence.hits:
            return np.zeros((0, len(FEATURES)))
        return features(self.evidence, self.query, self.best)


@dataclass(frozen=True)
class Candidates:
    """The memories that were found by any search, the first search's first."""

    hits: Sequence[Hit]
    own: Column
    """A row of OWN a hit."""
    paths: Column
    """For each hit a row of LINKS for each follow-up, after a row of zeros for no path at all."""


def candidates(
    first: Asking,
    odds: Column,
    topic: Asking | None,
    followed: Sequence[tuple[FollowUp, Evidence]],
    others: Sequence[Evidence] = (),
) -> Candidates:
    """Return all that was found, given the odds that the standard ranking gives the first hits.

    What other searches found is there as well; they say nothing for or against it.
    """
    evidences = [first.evidence, *([topic.evidence] if topic else ())]
    evidences += [*(found for _, found in followed), *others]
    hits: dict[str, Hit] = {}
    for evidence in evidences:
        for hit in evidence.hits:
            hits.setdefault(hit.memory_id, hit)
    place = {memory_id: n for n, memory_id in enumerate(hits)}
    inside = np.array([[float(hit.session_id is not None)] for hit in hits.values()])

    def spread(evidence: Evidence, rows: Column, empty: float = np.nan) -> Column:
        found = np.full((len(hits), rows.shape[1]), empty)
        found[[place[hit.memory_id] for hit in evidence.hits]] = rows
        return found

    standard = first.rows[:, : len(QUERIED)]
    own = spread(first.evidence, (odds - odds.max())[:, None])
    asked = spread(first.evidence, standard)
    about = asked if topic is None else spread(topic.evidence, topic.rows[:, : len(QUERIED)])
    paths = np.zeros((len(hits), len(followed) + 1, len(LINKS)))
    total = sum(first.evidence.weights)
    for n, (follow_up, found) in enumerate(followed, start=1):
        if found.hits:
            paths[:, n] = spread(found, links(found, follow_up, first.query, total), 0.0)
    support = paths.sum(1)[:, [LINKS.index(name) for name in SUPPORT]] / max(len(followed), 1)
    several = inside * float(asks_for_several(first.query))
    own_filled, about_filled = _filled(own), _filled(about)
    columns = [
        *(own_filled, inside * own_filled, np.isnan(own)),
        *(about_filled, np.isnan(about[:, :1])),
        several * _filled(asked)[:, [FEATURES.index(name) for name in ASKED_FOR]],
        several * about_filled[:, : len(OF_TOPIC)],
        support,
    ]
    return Candidates(list(hits.values()), np.concatenate(columns, axis=1).astype(float), paths)


def _filled(rows: Column) -> Column:
    """Return the rows with the least there is, or 0, where a memory was not found."""
    known = rows[~np.isnan(rows[:, 0])]
    least = np.minimum(known.min(0), 0.0) if len(known) else np.zeros(rows.shape[1])
    return np.where(np.isnan(rows), least, rows)
