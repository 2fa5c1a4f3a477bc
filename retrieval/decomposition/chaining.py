"""The second ranking: a memory is as good as it is by itself and by the best path that leads to it.

Its score is the weighted sum of its own features, and of those of the link from the memory that
leads to it most surely, if any does. Both are one vector of weights, so that the same ranking
chooses which memories to follow in a further round.
"""

import json
from collections.abc import Mapping
from importlib.resources import files

import numpy as np

from retrieval.decomposition.candidates import OWN, Candidates
from retrieval.decomposition.links import LINKS
from retrieval.ranking.evidence import Column, Places
from retrieval.ranking.highest import SCORE_DIGITS

PRIOR: Mapping[str, float] = json.loads(
    files("retrieval.decomposition").joinpath("prior.json").read_text(encoding="utf-8")
)
"""The weights every tenant starts from, fitted by ``python -m bench.hops``."""


def chained(found: Candidates, weights: Mapping[str, float] = PRIOR) -> tuple[Column, Places]:
    """Return the odds of each candidate, as logarithms, and which of its paths is the best."""
    own = np.array([weights.get(name, 0.0) for name in OWN])
    link = np.array([weights.get(f"link: {name}", 0.0) for name in LINKS])
    led = found.paths @ link
    odds: Column = (found.own @ own + led.max(1)).round(SCORE_DIGITS)
    return odds, led.argmax(1)
