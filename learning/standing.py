"""How a tenant's learning stands, for those who look at it."""

import math
from typing import Any

from learning.config import LearningConfig
from learning.promotion import trial_bounds
from learning.running import Running
from learning.sense import SENSE, lists_seen, tells
from learning.state import Learned


def standing(text: str, config: LearningConfig) -> dict[str, Any]:
    """Return what people ask of a state: how it does, and what waits to be promoted and why."""
    state = Learned.loads(text)
    bounds = trial_bounds(state, config)
    return {
        "baseline": state.baseline,
        "live": _told(state.live, state.live.bounds(config.live_z)),
        "suspended": state.suspended,
        "suspended_until": state.suspended_until or None,
        "signals": {"lists": lists_seen(state.trials), "tell": tells(state.trials, config)},
        "staged": {
            part: {
                **_told(trial, bounds[part]),
                "lessons_needed": max(config.gate_lessons - trial.n, 0),
            }
            for part, trial in sorted(state.trials.items())
            if part != SENSE
        },
        "serving_parts": list(state.serving.parts),
    }


def _told(known: Running, bounds: tuple[float, float]) -> dict[str, Any]:
    # Of few lessons that tell nothing is known, and JSON has no infinity.
    sure = all(map(math.isfinite, bounds))
    return {
        "lessons": known.n,
        "estimate": known.mean if known.n else None,
        "lower": bounds[0] if sure else None,
        "upper": bounds[1] if sure else None,
    }
