"""When a query is another one's rewording: it asks for much the same in other words."""

from storage.words import folded, telling, terms

SHARE = 0.5
"""So much of the shorter query's stems must be in the other: "cat name" and "name of her pet" share
one of two, and are about the same; with a third, any two questions about one person would be."""


def is_reworded(query: str, later: str) -> bool:
    """Tell whether the later query is similar to the first, but not the same again."""
    if _plain(query) == _plain(later):
        return False
    stems, later_stems = _stems(query), _stems(later)
    shorter = min(len(stems), len(later_stems))
    return shorter > 0 and len(stems & later_stems) >= SHARE * shorter


def _plain(query: str) -> str:
    return " ".join(folded(query).split())


def _stems(query: str) -> set[str]:
    return set(telling(query) or terms(query))
