"""What a simulation came to: means over the last quarter, intervals, and the curve on the way."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from memstream.simulation.arms import Came
from memstream.simulation.intervals import paired
from memstream.simulation.run import Rounds

POINTS = 40
"""So many points has a curve, or as many as there are rounds."""


def report(rounds: Rounds) -> dict[str, Any]:
    """Return one seed's outcome as the contract describes it, and what people ask next."""
    quarter = max(len(rounds.learned) // 4, 1)
    learned, frozen = rounds.learned[-quarter:], rounds.frozen[-quarter:]
    questions = [one.question for one in learned]
    return {
        "rounds": len(rounds.learned),
        "learned": means(learned),
        "frozen": means(frozen),
        "curve": curve(rounds),
        "difference": {
            name: paired(
                [getattr(one, name) for one in learned],
                [getattr(one, name) for one in frozen],
                questions,
            )
            for name in ("reward", "recall")
        },
        **({"fixed": fixed(rounds, quarter), "regret": regret(rounds)} if rounds.others else {}),
        **({"kept_apart": _rounded(rounds.kept_apart)} if rounds.kept_apart else {}),
        "policies": {tenant: version for tenant, (version, _) in rounds.policies.items()},
        "events": {tenant: dict(kinds) for tenant, kinds in rounds.events.items()},
        "labels": dict(rounds.labels),
        "late": rounds.late,
    }


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in sorted(shares.items())}


def means(came: Sequence[Came]) -> dict[str, Any]:
    """Return the means of some rounds, and which share of them went which way."""
    ways = Counter(one.route for one in came)
    return {
        "reward": round(_mean(came, "reward"), 4),
        "recall": round(_mean(came, "recall"), 4),
        "tokens": round(_mean(came, "tokens"), 1),
        "routes": _rounded({name: number / len(came) for name, number in ways.items()}),
    }


def curve(rounds: Rounds) -> list[dict[str, float]]:
    """Return the means of each stretch of rounds, under the number of its last round."""
    total = len(rounds.learned)
    ends = sorted({math.ceil(total * (n + 1) / POINTS) for n in range(POINTS)})
    lost = _lost(rounds)
    points = []
    for start, end in zip([0, *ends], ends, strict=False):
        learned, frozen = rounds.learned[start:end], rounds.frozen[start:end]
        points.append(
            {
                "round": end,
                "learned_reward": round(_mean(learned, "reward"), 4),
                "frozen_reward": round(_mean(frozen, "reward"), 4),
                "learned_recall": round(_mean(learned, "recall"), 4),
                "frozen_recall": round(_mean(frozen, "recall"), 4),
                **_regret_of(lost, start, end),
            }
        )
    return points


def fixed(rounds: Rounds, last: int) -> dict[str, dict[str, Any]]:
    """Return the means of every way that never changes, over the last rounds."""
    return {name: means(came[-last:]) for name, came in _ways(rounds).items()}


def best_fixed(rounds: Rounds) -> str:
    """Return the way that would have been the best to stay with from the first round on."""
    ways = _ways(rounds)
    return max(ways, key=lambda name: _mean(ways[name], "reward"))


def regret(rounds: Rounds) -> dict[str, Any]:
    """Return by how much learning is behind the best fixed way in hindsight, a round and in all.

    Below 0 it is ahead: it may choose otherwise for every question, and learns what memories are
    worth, which nothing that is fixed does.
    """
    lost, best = _lost(rounds), best_fixed(rounds)
    quarter = max(len(lost) // 4, 1)
    return {
        "against": best,
        "first_quarter": round(fmean(lost[:quarter]), 4),
        "last_quarter": round(fmean(lost[-quarter:]), 4),
        "cumulative": round(math.fsum(lost), 2),
    }


def _regret_of(lost: Sequence[float], start: int, end: int) -> dict[str, float]:
    if not lost:
        return {}
    return {
        "regret": round(fmean(lost[start:end]), 4),
        "cumulative_regret": round(math.fsum(lost[:end]), 4),
    }


def _lost(rounds: Rounds) -> list[float]:
    if not rounds.others:
        return []
    best = _ways(rounds)[best_fixed(rounds)]
    return [one.reward - other.reward for one, other in zip(best, rounds.learned, strict=True)]


def _ways(rounds: Rounds) -> dict[str, Sequence[Came]]:
    return {"frozen": rounds.frozen, **rounds.others}


def _mean(came: Sequence[Came], name: str) -> float:
    return fmean(getattr(one, name) for one in came)
