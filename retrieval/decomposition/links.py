"""How much speaks for a memory because another one leads to it."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from retrieval.decomposition.follow_ups import FollowUp, phrases
from retrieval.ranking import Evidence
from retrieval.ranking.evidence import Column
from storage import Hit, words

PLAIN = ("found", "parent", "cosine", "plain cosine", "bm25", "unanswered", "names", "name")
LINKS = (
    *PLAIN,
    *("gain", "phrase", "name and unanswered", "phrase and unanswered"),
    *("title in parent", "title by parent", "parent's title", "same session"),
    *(f"in session: {name}" for name in (*PLAIN, "name and unanswered")),
)
NEAREST = 40
"""The cosine of so many is told apart; further ones are as good as the last of them."""

_BRACKETED = re.compile(r"\(.*?\)")
_LEAST_TITLE = 3
"""Characters of the shortest title that is looked for in a text."""


def links(evidence: Evidence, asked: FollowUp, query: str, all_weights: float) -> Column:
    """Return a row of features for each hit of a follow-up; a row of zeros for the parent."""
    weight, has = np.array(evidence.weights), evidence.counts > 0
    cut = len(asked.unanswered)
    told = weight[:cut] @ has[:cut]
    unanswered = told / max(float(weight[:cut].sum()), 1e-9)
    names = weight[cut:] @ has[cut:] / max(float(weight[cut:].sum()), 1e-9)
    heaviest = max(float(weight.max(initial=0.0)), 1e-9)
    name = (weight[cut:, None] * has[cut:]).max(0, initial=0.0) / heaviest
    phrase = _phrase(asked, weight, has) / heaviest
    ones = np.ones(len(evidence.hits))
    plain = [ones, ones * asked.odds, _nearness(evidence.cosine), evidence.cosine]
    plain += [evidence.bm25 / max(float(evidence.bm25.max()), 1e-9), unanswered, names, name]
    columns = [*plain, told / max(all_weights, 1e-9), phrase, name * unanswered]
    columns += [phrase * unanswered, *_titles(evidence.hits, asked.parent, query)]
    columns += [evidence.inside * column for column in (*plain, name * unanswered)]
    rows: Column = np.stack(columns, axis=1)
    rows[[hit.memory_id == asked.parent.memory_id for hit in evidence.hits]] = 0.0
    return rows


def _nearness(cosine: Column) -> Column:
    zero = np.sort(cosine)[-min(NEAREST, len(cosine))]
    nearness: Column = np.maximum((cosine - zero) / max(float(cosine.max() - zero), 1e-9), 0.0)
    return nearness


def _phrase(asked: FollowUp, weight: Column, has: npt.NDArray[np.bool_]) -> Column:
    """Return what the rarest word weighs of the rarest whole name of the parent in each hit."""
    place = {stem: n for n, stem in enumerate((*asked.unanswered, *asked.names))}
    found = np.zeros(has.shape[1])
    for stems in phrases(asked.parent.content):
        if all(stem in place for stem in stems):
            rows = [place[stem] for stem in stems]
            found = np.maximum(found, has[rows].all(0) * weight[rows].max())
    return found


def _titles(hits: Sequence[Hit], parent: Hit, query: str) -> list[Column]:
    """Return how far titles lead from the parent to the hits and back."""
    stems = words.terms(parent.content)
    text, new = f" {' '.join(stems)} ", {*stems} - {*words.telling(query)}
    title = words.folded(parent.content[: words.TITLE_WITHIN].partition(":")[0])
    title = _BRACKETED.sub("", title).strip() if parent.title else ""
    columns = np.zeros((4, len(hits)))
    for n, hit in enumerate(hits):
        if hit.session_id is not None:
            columns[3, n] = hit.session_id == parent.session_id
            continue
        own = {*hit.title.split()}
        if len(hit.title) >= _LEAST_TITLE and hit.title != parent.title:
            columns[0, n] = f" {hit.title} " in text
        columns[1, n] = len(own & new) / len(own) if own else 0.0
        if len(title) > _LEAST_TITLE:
            columns[2, n] = title in words.folded(hit.content)
    return list(columns)
