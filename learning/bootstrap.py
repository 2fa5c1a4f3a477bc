"""Lessons for a tenant without any: templates of queries with the outcomes to be expected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning.lessons import Chosen, Experience, Lesson
from models.choices import Choice

REPEATED: Final = 4
"""How often each is told: together they outweigh the ridge, but not a few hundred searches."""


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of query: what it reads like, and the reward to be expected on each route."""

    name: str
    signals: Sequence[Mapping[str, float]]
    rewards: Mapping[str, float]


TEMPLATES: Final[Sequence[Template]] = (
    Template(
        "simple",
        [
            {"structure": 0.05},
            {"structure": 0.07},
            {"multi_layer": 0.15, "structure": 0.07},
            {"structure": 0.16},
            {"aggregation": 0.10, "structure": 0.06},
        ],
        # Taken apart, a simple query finds the same, later and for more tokens.
        {"standard": 1.0, "rlm": 0.6},
    ),
    Template(
        "moderate",
        [
            {"multi_layer": 0.15, "structure": 0.15},
            {"aggregation": 0.15, "structure": 0.15},
            {"comparison": 0.15, "structure": 0.15},
        ],
        {"standard": 0.8, "rlm": 0.8},
    ),
    Template(
        "complex",
        [
            {"aggregation": 0.20, "comparison": 0.15, "structure": 0.05},
            {"aggregation": 0.25, "structure": 0.12},
            {"multi_layer": 0.30, "aggregation": 0.20, "comparison": 0.20, "structure": 0.10},
            {"multi_layer": 0.15, "aggregation": 0.15, "comparison": 0.25, "structure": 0.07},
        ],
        # A plain search finds one side of a comparison: the query is reworded.
        {"standard": 0.6, "rlm": 1.0},
    ),
)


def synthetic(templates: Iterable[Template]) -> list[Lesson]:
    """Return the lessons of templates: every route tried as often, each with its outcome."""
    return [
        Lesson(
            Experience(
                trajectory_id=f"bootstrap/{template.name}/{kind}/{time}/{route}",
                revision=0,
                policy_version=0,
                reward=reward,
                trainable=True,
                chosen=(_chosen(route, signals, template.rewards),),
            )
        )
        for template in templates
        for kind, signals in enumerate(template.signals)
        for time in range(REPEATED)
        for route, reward in template.rewards.items()
    ]


def _chosen(route: str, signals: Mapping[str, float], routes: Iterable[str]) -> Chosen:
    options = dict.fromkeys(routes, 0.0)
    features = {"always": 1.0, "score": sum(signals.values()), **_ALL, **signals}
    choice = Choice(
        point="route", option=route, options=options, features=features, exploration=1.0
    )
    return Chosen(choice, 1 / len(options))


_ALL: Final = dict.fromkeys(("multi_layer", "aggregation", "comparison", "structure"), 0.0)
