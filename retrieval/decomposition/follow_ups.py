"""What to ask next, given a memory that answers a part of the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.decomposition.questions import without_names
from retrieval.fusion import Scored
from storage import Asked, Hit, words

MOST_UNANSWERED = 8
"""So many of the question's words that the memory does not have are looked for."""
MOST_NAMES = 8
"""So many names are followed: each word more costs the store a look at every memory with it."""
MOST_SAID = 200
"""Characters of the memory's best sentence that are asked with: longer ones drown the question."""

_NAME = re.compile(r"[A-Z][\w'’-]*|\d{3,4}")
_RUN = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A search for what a memory leaves unanswered, by the names it mentions."""

    parent: Hit
    odds: float
    """How far behind the best memory of the search the parent is, as a logarithm."""
    text: str
    unanswered: tuple[str, ...]
    """Stems of the question that the parent does not have."""
    names: tuple[str, ...]
    """Stems of the parent's names that the question does not have."""

    @property
    def asked(self) -> Asked:
        """What the store looks for: the unanswered words, then the names."""
        return Asked((*self.unanswered, *self.names))


def follow_ups(
    query: str, hits: Sequence[Scored], limit: int, least: float | None = None
) -> list[FollowUp]:
    """Return what to ask after the best hits, given best first and scored by the ranker's odds.

    A hit whose odds are further than ``least`` behind the best one is not followed.
    """
    if not hits:
        return []
    best = hits[0].score
    near = [one for one in hits[:limit] if least is None or one.score - best >= least]
    return [_follow_up(query, one.hit, one.score - best) for one in near]


def phrases(text: str) -> list[list[str]]:
    """Return the names of a text that have several words, as stems."""
    return [stems for run in _RUN.findall(text) if len(stems := words.terms(run)) > 1]


def _follow_up(query: str, parent: Hit, odds: float) -> FollowUp:
    asked = words.telling(query)
    said = set(words.terms(parent.content))
    before, sentences = _split(parent)
    sentences.sort(key=lambda sentence: -len({*asked} & {*words.terms(sentence)}))
    names = dict.fromkeys(
        stem
        for text in (before, *sentences)
        for name in _NAME.findall(text)
        for stem in words.telling(name)
        if stem not in asked
    )
    # Of a turn of a conversation, who says it is what the rest of the conversation says as well.
    about = f"{before}: " if before and parent.session_id is None else ""
    left = without_names(query, lambda name: said.issuperset(words.terms(name)))
    return FollowUp(
        parent=parent,
        odds=odds,
        text=f"{left} {about}{sentences[0].strip()[:MOST_SAID]}",
        unanswered=tuple(stem for stem in asked if stem not in said)[:MOST_UNANSWERED],
        names=tuple(names)[:MOST_NAMES],
    )


def _split(hit: Hit) -> tuple[str, list[str]]:
    """Return the title or speaker, if there is one, and the sentences."""
    before, colon, _ = hit.content[: words.TITLE_WITHIN].partition(":")
    if not colon:
        return "", _END.split(hit.content)
    return before, _END.split(hit.content[len(before) + 1 :])
