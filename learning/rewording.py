"""When a query is another one's rewording: it asks for much the same in other words."""

from storage.words import folded, pieces

SHARE = 0.5
"""So much of the shorter query must be in the other: "cat name" and "name of her pet"
share one of two and are about the same; with a third, any two questions about one person would."""


def is_reworded(query: str, later: str) -> bool:
    """Tell whether the later query is similar to the first, but not the same again."""
    if _plain(query) == _plain(later):
        return False
    first, second = pieces(query), pieces(later)
    shorter = min(len(first), len(second))
    return shorter > 0 and len(first & second) >= SHARE * shorter


def _plain(query: str) -> str:
    return " ".join(folded(query).split())
