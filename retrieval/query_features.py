"""What can be told of a query at a glance, whatever it is about: choices are learned by it."""

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LINKING: Final = frozenset(
    ("of", "who", "whom", "whose", "which", "that", "where", "when", "by", "in", "from")
)
"""Words by which one thing is found through another: "the mother of the director of …"."""
MANY_WORDS: Final = 20
MANY_LINKS: Final = 5


def query_features(query: str) -> dict[str, float]:
    """Return what learning may weigh, each from 0 to 1."""
    said = _WORD.findall(query)
    if not said:
        return {"words": 0.0, "names": 0.0, "links": 0.0, "exact": 0.0}
    # The first word of a sentence is written large whatever it is.
    names = sum(word[0].isupper() for word in said[1:])
    links = sum(word.lower() in _LINKING or word[-2:] in ("'s", "’s") for word in said)
    exact = any(character.isdigit() for character in query) or '"' in query or "_" in query
    return {
        "words": min(len(said) / MANY_WORDS, 1.0),
        "names": names / len(said),
        "links": min(links / MANY_LINKS, 1.0),
        "exact": float(exact),
    }
