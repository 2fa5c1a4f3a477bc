"""What counts as a word: the same on every store, so that all of them find and rank the same.

Words are compared by their English stems ("runs" is found by "running"); words of other languages
are left as they are by nearly all of its rules. Chinese, Japanese and Korean are written without
spaces, so there a query is looked for as a part of the text instead.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_WORD = 64
"""Longer words (keys, encoded data) are cut: no index wants a term of kilobytes."""
MAX_TERMS = 64
"""So many of a query's words are looked for; a query of 8,192 characters has too many to tell."""
LEAST_PART = 3
"""Parts of words are looked for from this length on; shorter ones are in nearly every text."""
TITLE_WITHIN = 80
"""A title or a speaker ends with a colon this near to the beginning."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_POSSESSIVE = re.compile(r"'s?$")
_MARKS_UP_TO = 0x20000
"""Above are only the marks that choose between two shapes of a letter."""
# Thai, Lao, Burmese, Khmer: no spaces either, so a text whose marks do not part it is one word.
_PARTED_BY_MARKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f]")
_BRACKETED = re.compile(r"\(.*?\)")
# Han, kana, bopomofo and hangul: scripts in which a run of letters is not one word.
_UNSPACED = re.compile(r"[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u31ff\u3400-\u9fff"
                       r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")  # fmt: skip
_STOP_WORDS = """
a about after again all am an and any are as at be because been before being between both but by can
could did do does doing down during each few for from further had has have having he her here him
his how i if in into is it its just me more most my no nor not now of off on once only or other our
out over own same she should so some such than that the their them then there these they this those
through to too under until up very was we were what when where which while who whom why will with
would you your
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as a store looks for it."""

    terms: tuple[str, ...]
    """The distinct stems that say something: a text with one of them is found."""
    parts: tuple[str, ...] = ()
    """Instead of terms, where words are not written apart: what a text must have, all of it."""
    scraps: tuple[str, ...] = ()
    """What is looked for, one by one, when nothing else is found: words and runs, unstemmed."""


def folded(text: str) -> str:
    """Return the text without differences of case and of width."""
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'")


def terms(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    return [_stem(word) for word in _words(folded(text))]


def telling(text: str) -> list[str]:
    """Return the distinct stems of a text that are not stop words, in order."""
    return [stem for stem in dict.fromkeys(terms(text)) if stem not in _stop_stems()]


@lru_cache(maxsize=4096)
def pieces(text: str) -> frozenset[str]:
    """Return what a text can be compared with another by.

    These are its stems, without stop words if it has others, and every two letters in a row where
    words are not written apart.
    """
    runs = _UNSPACED.findall(folded(text))
    pairs = {run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))}
    stems = {one for one in telling(text) or terms(text) if not _UNSPACED.search(one)}
    return frozenset(pairs | stems)


def title(content: str) -> list[str]:
    """Return the stems before the first colon near the start: of a title or a speaker's name."""
    before, colon, _ = content[:TITLE_WITHIN].partition(":")
    return terms(_BRACKETED.sub("", before)) if colon else []


def gist(query: str) -> str:
    """Return what a query asks for: the same for queries that differ in nothing but small words."""
    found = asked(query)
    return " ".join(sorted(found.terms or found.parts))


@lru_cache(maxsize=1024)
def asked(query: str) -> Asked:
    """Return what to look for to answer a query: its stop words only if it has no others."""
    plain = folded(query)
    stems = telling(query) or list(dict.fromkeys(terms(query)))
    runs = _UNSPACED.findall(plain)
    words = _words(_UNSPACED.sub(" ", plain))
    long = [word for word in words if len(word) >= LEAST_PART]
    return Asked(
        terms=() if runs else tuple(stems[:MAX_TERMS]),
        parts=_distinct([*runs, *words]) if runs else (),
        scraps=_distinct([*runs, *long]),
    )


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MAX_TERMS]


def _words(plain: str) -> list[str]:
    # Marks are looked for where there can be any: it takes five times as long.
    found: list[str] = (_WORD if plain.isascii() else _marked_word()).findall(plain)
    return found


@lru_cache(maxsize=1)
def _marked_word() -> re.Pattern[str]:
    """Return what a word is: letters and digits, and the marks on them (vowels of Hindi, accents).

    For Python a mark is no part of a word.
    """
    marks = "".join(
        mark
        for mark in map(chr, range(_MARKS_UP_TO))
        if unicodedata.category(mark) in ("Mn", "Mc")
        and not _PARTED_BY_MARKS.match(mark)
        and not unicodedata.name(mark, "").startswith("VARIATION SELECTOR")
    )
    part = rf"[^\W_]+(?:[{marks}]+[^\W_]*)*"
    return re.compile(rf"{part}(?:'{part})?")


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    import snowballstemmer  # It comes with all its languages: slow, and most commands need none.

    plain = _POSSESSIVE.sub("", word).replace("'", "")[:MAX_WORD]
    stemmed: str = snowballstemmer.stemmer("english").stemWord(plain)
    return stemmed


@lru_cache(maxsize=1)
def _stop_stems() -> frozenset[str]:
    return frozenset(terms(_STOP_WORDS))
