"""Whether one JSON value contains another, by the rules of PostgreSQL's jsonb @> operator."""

from typing import Any


def contains(whole: Any, part: Any) -> bool:
    """Tell whether ``whole`` has at least what ``part`` has, at any depth."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        # Order and repetition do not count: each entry asked for must be in some entry there.
        return isinstance(whole, list) and all(
            any(contains(entry, wanted) for entry in whole) for wanted in part
        )
    # JSON's true is not its 1, though Python's is.
    return isinstance(whole, bool) == isinstance(part, bool) and bool(whole == part)
