"""Takes a question apart by rules: what it is about apart from whom, its sides, its inner parts."""

import re
from collections.abc import Callable

from storage import words

_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][\w’'-]*")
# "compare X and Y", "the difference between X and Y", "X versus Y".
_SIDES = re.compile(
    r"""(?P<before>.*?)\b(?:
        (?:compare|contrast|comparing)\s+(?P<a1>.+?)\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<b1>.+)
        |(?:differences?|similarit(?:y|ies))\s+between\s+(?P<a2>.+?)\s+and\s+(?P<b2>.+)
    )$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_AGAINST = re.compile(r"\s+(?:versus|vs\.?|compared\s+(?:to|with))\s+", re.IGNORECASE)
# A second question after the first: "… and when was it built?"
_QUESTIONS = re.compile(
    r",?\s+and\s+(?=(?:what|when|where|who|whom|whose|which|why|how)\b)", re.IGNORECASE
)
_SEVERAL = re.compile(
    r"\b(?:what|which)\s+(?:\w+\s+){0,2}?(?!is\b|was\b|does\b|has\b)\w+[^s\W]s\b"
    r"|\b(?:has|have)\s+\w+|\bhow many\b"
    r"|\b(?:both|common|all|various|different|would|might|likely|types?|kinds?|ways)\b",
    re.IGNORECASE,
)
_END = " ?.!"


def sides(query: str) -> tuple[str, ...]:
    """Return the sides of a comparison or the questions joined in one, none if there is only one.

    What is said of both sides is said of each: "compare error handling in A and B" asks for error
    handling in A, and for error handling in B.
    """
    text = query.strip(_END)
    if found := _SIDES.search(text):
        first, second = (found["a1"], found["b1"]) if found["a1"] else (found["a2"], found["b2"])
        return _with_context(first, second)
    if len(parts := _AGAINST.split(text)) > 1:
        return _with_context(parts[0], parts[1])
    if len(parts := _QUESTIONS.split(text)) > 1:
        return tuple(part.strip(_END) for part in parts)
    return ()


def _with_context(first: str, second: str) -> tuple[str, ...]:
    """Return both sides, the second with what the first says before its preposition."""
    about = re.match(r"(.+\s(?:in|of|for|at|by|from|on)\s)(?:the\s+)?\S", first, re.IGNORECASE)
    both = (first, f"{about[1]}{second}" if about and about[1] not in second else second)
    return tuple(side.strip(_END) for side in both) if all(map(words.telling, both)) else ()


def topic(query: str) -> str:
    """Return the question without the names in it, or as it is if they are all it says.

    A name is much of what a short text means to an embedding: of all that somebody ever said, what
    is about the topic is found by the topic.
    """
    return without_names(query, lambda _: True)


def without_names(query: str, covered: Callable[[str], bool]) -> str:
    """Return the question without those of its names that are covered elsewhere."""
    left = _NAME.sub(lambda name: "" if covered(name[0]) else name[0], query)
    left = " ".join(left.split())
    return left if words.telling(left) else query


def asks_for_several(query: str) -> bool:
    """Tell whether more than one memory is likely to be meant: lists, counts, guesses, both."""
    return _SEVERAL.search(query) is not None
