"""How complex a query reads: four families of signs, each counting only so much."""

import re
from collections import Counter
from functools import cache
from typing import Final

from models import LAYER_PRECEDENCE, ComplexitySignals, Layer
from storage.words import folded

LAYER_WORD: Final = 0.15
SEVERAL_ENTITIES: Final = 0.15
AGGREGATION: Final = 0.25
COMPARISON: Final = 0.25
MOST_FOR_LENGTH: Final = 0.1
WORDS_PER_POINT: Final = 100
SIGN_OF_STRUCTURE: Final = 0.05
MOST_FOR_SIGNS: Final = 0.1

_WORD: Final = re.compile(r"[^\W_]+")

# Words by which people call the layers, besides their own names.
_ALIASES: Final = {
    "org": ("organization", "organisation", "department", "division"),
    "company": ("enterprise", "corporation"),
}
_PLURALS: Final = {"company": "companies"}
_LAYERS: Final[dict[str, Layer]] = {
    name: layer for layer in LAYER_PRECEDENCE for name in (layer, *_ALIASES.get(layer, ()))
}
_SEVERAL: Final = {_PLURALS.get(name, f"{name}s"): layer for name, layer in _LAYERS.items()}

_SUMMARY: Final = frozenset({"summarize", "summarise", "summary", "overview", "gist"})
_AGGREGATION: Final = frozenset(
    {
        *("across", "all", "every", "each", "entire", "overall", "everything", "throughout"),
        *("summarize", "summarise", "summary", "aggregate", "total", "average", "count"),
        *("trend", "trends", "evolution", "evolve", "evolved", "history", "trace"),
    }
)
_COMPARISON: Final = frozenset(
    {
        *("compare", "compared", "comparing", "comparison", "vs", "versus", "contrast"),
        *("differ", "differs", "difference between", "differences between"),
    }
)
_STRUCTURE: Final = frozenset(
    {
        # One thing after the other …
        *("then", "followed by", "caused", "causing", "led to", "leading to", "leads to"),
        *("resulted in", "resulting in", "as a result", "because of"),
        # … and time.
        *("since", "over time", "over the years", "yesterday", "until", "so far"),
        *(
            f"{when} {unit}"
            for when in ("last", "past", "previous", "this")
            for unit in ("week", "month", "quarter", "year", "sprint", "day")
        ),
    }
)


class _Said:
    """The words of a query, and how they stand together."""

    def __init__(self, query: str) -> None:
        self.words = _WORD.findall(folded(query))
        self._known = frozenset(self.words)
        self._text = f" {' '.join(self.words)} "

    def signs(self, phrases: frozenset[str]) -> int:
        """Return how many different ones of these it has."""
        single = len(self._known & phrases)
        return single + sum(f" {phrase} " in self._text for phrase in _several_words(phrases))


@cache
def _several_words(phrases: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(phrase for phrase in phrases if " " in phrase))


def signals(query: str) -> ComplexitySignals:
    """Return the signs of complexity in a query."""
    said = _Said(query)
    named = Counter(_LAYERS[word] for word in said.words if word in _LAYERS)
    several = any(word in _SEVERAL for word in said.words) or any(
        count > 1 for count in named.values()
    )
    length = min(len(query.split()) / WORDS_PER_POINT, MOST_FOR_LENGTH)
    return ComplexitySignals(
        multi_layer=LAYER_WORD * (bool(named) or several) + SEVERAL_ENTITIES * several,
        aggregation=AGGREGATION * (said.signs(_AGGREGATION) > 0),
        comparison=COMPARISON * (said.signs(_COMPARISON) > 0),
        structure=length + min(SIGN_OF_STRUCTURE * said.signs(_STRUCTURE), MOST_FOR_SIGNS),
    )


def wants_summary(query: str) -> bool:
    """Return whether a query asks for the gist of many memories."""
    return _Said(query).signs(_SUMMARY) > 0


def layers_in_plural(query: str) -> tuple[Layer, ...]:
    """Return the layers of which a query asks for several entities, the most specific first."""
    asked = {_SEVERAL[word] for word in _Said(query).words if word in _SEVERAL}
    return tuple(layer for layer in LAYER_PRECEDENCE if layer in asked)


def complexity(found: ComplexitySignals) -> float:
    """Return the score of a query: the sum of its families, at most 1."""
    # Rounded, so that 0.1 + 0.2 reaches a threshold of 0.3.
    total = found.multi_layer + found.aggregation + found.comparison + found.structure
    return min(round(total, 9), 1.0)
