"""Packs memories into a token budget: whole where they fit, else the sentences that matter."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval.context.tokens import count_tokens
from storage import Hit, words

BULLET: Final = "- "
GAP: Final = " … "
LEAST_EXCERPT: Final = 8
"""With fewer tokens left an excerpt says nothing any more."""

_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+[.!?。！？]*\s*|\n+")


@dataclass(frozen=True, slots=True)
class Packed:
    """A context and what is in it."""

    text: str
    memory_ids: tuple[str, ...]
    tokens: int


def pack(query: str, hits: Sequence[Hit], budget: int) -> Packed:
    """Return as much of the hits as the budget takes, the first of them first."""
    lines: list[str] = []
    memory_ids: list[str] = []
    left = budget
    for hit in hits:
        line = _line(query, hit.content, left)
        if line is None:
            continue
        lines.append(line)
        memory_ids.append(hit.memory_id)
        # Counted line by line: a line break costs nothing, and words never run together.
        left -= count_tokens(line)
    text = "\n".join(lines)
    return Packed(text, tuple(memory_ids), count_tokens(text))


def _line(query: str, content: str, left: int) -> str | None:
    whole = BULLET + " ".join(content.split())
    if count_tokens(whole) <= left:
        return whole
    room = left - count_tokens(BULLET)
    if room < LEAST_EXCERPT:
        return None
    excerpt = _excerpt(query, content, room)
    return BULLET + excerpt if excerpt else None


def _excerpt(query: str, content: str, room: int) -> str:
    """Return the sentences that say the most of what is asked, in their order."""
    sentences = [" ".join(one.split()) for one in _SENTENCE.findall(content) if one.strip()]
    chosen: list[int] = []
    for place in _by_worth(query, sentences):
        cost = count_tokens(sentences[place]) + count_tokens(GAP)
        if cost <= room:
            chosen.append(place)
            room -= cost
    if not chosen:
        return _cut(sentences[next(iter(_by_worth(query, sentences)))], room) if sentences else ""
    return GAP.join(sentences[place] for place in sorted(chosen))


def _by_worth(query: str, sentences: Sequence[str]) -> list[int]:
    """Return the places of the sentences, those first that have most of the rarer words asked."""
    asked = set(words.asked(query).terms)
    said = [asked & set(words.terms(sentence)) for sentence in sentences]
    frequency = Counter(term for terms in said for term in terms)
    worth = [sum(1 / frequency[term] for term in terms) for terms in said]
    return sorted(range(len(sentences)), key=lambda place: (-worth[place], place))


def _cut(sentence: str, room: int) -> str:
    """Return the beginning of a sentence that is too long by itself."""
    kept = ""
    for word in sentence.split():
        longer = f"{kept} {word}" if kept else word
        if count_tokens(longer) > room:
            break
        kept = longer
    return kept
