"""What learning costs: a step on twenty trajectories, and a choice.

``python -m bench.learning_cost`` writes bench/results/learning_cost.json.
"""

import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from learning.config import LearningConfig
from learning.lessons import Chosen, Experience, Lesson, Placed
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer, exploration
from models.choices import Choice, Point
from retrieval.choosing import Chooser, Policy
from retrieval.ranking.ranker import PRIOR

RESULTS = Path(__file__).parent / "results"
STEPS = 200
CHOICES = 20_000
GOALS = {"step_cpu_ms": 5.0, "choice_us": 50.0}
SHOWN = 10

POINTS: dict[Point, dict[str, float]] = {
    "route": {"standard": 0.0, "rlm": -1.0},
    "recipe": {"ranker": 1.0, "rrf": 0.0, "weighted": 0.0},
    "keywords": {"less": 0.0, "usual": 1.0, "more": 0.0},
    "pool": {"narrow": 0.0, "usual": 1.0, "wide": 0.0},
}
MOVES = dict.fromkeys(("search", "drill down", "take apart", "follow up", "ask", "stop"), 0.0)
NAMES = (
    "always",
    "score",
    "multi_layer",
    "aggregation",
    "comparison",
    "structure",
    "words",
    "names",
)


def lesson(number: int, chance: random.Random) -> Lesson:
    """Return a search with all choices of its route, ten memories shown and some of them used."""
    chosen = [_chosen(point, options, chance) for point, options in POINTS.items()]
    if chosen[0].choice.option == "rlm":
        chosen += [_chosen("move", MOVES, chance) for _ in range(5)]
    names = tuple(sorted(PRIOR))
    placed = tuple(
        Placed(
            f"m{chance.randrange(5000)}",
            rank,
            1.0,
            chance.random() < 0.15,
            tuple(chance.random() for _ in names),
        )
        for rank in range(1, SHOWN + 1)
    )
    return Lesson(
        Experience(
            f"t{number}",
            0,
            0,
            chance.uniform(-0.5, 1.0),
            trainable=chance.random() < 0.9,
            chosen=tuple(chosen),
            names=names,
            placed=placed,
        )
    )


def _chosen(point: Point, options: dict[str, float], chance: random.Random) -> Chosen:
    features = {name: chance.random() for name in NAMES}
    option = chance.choice([*options])
    choice = Choice(point=point, option=option, options=options, features=features, exploration=0.2)
    return Chosen(choice, 1 / len(options))


def steps() -> dict[str, float]:
    """Measure steps, and what is around them: state and lessons read, state written."""
    chance = random.Random(7)
    trainer = Trainer(PRIOR)
    written = Learned.fresh(PRIOR).dumps()
    alone, around = [], []
    for step in range(STEPS):
        texts = [lesson(STEP * step + n, chance).experience.dumps() for n in range(STEP)]
        started = time.process_time()
        state = Learned.loads(written)
        told = [Lesson(Experience.loads(text)) for text in texts]
        learning = time.process_time()
        state = trainer.step(state, told).state
        learned = time.process_time()
        written = state.dumps()
        alone.append(1000 * (learned - learning))
        around.append(1000 * (time.process_time() - started))
    return {
        "step_cpu_ms": statistics.median(alone),
        "step_cpu_p95_ms": statistics.quantiles(alone, n=20)[-1],
        "step_with_reading_and_writing_cpu_ms": statistics.median(around),
        "state_bytes": len(written),
    }


def choices() -> dict[str, float]:
    """Measure choices of a route by learned weights, as each request makes them."""
    chance = random.Random(7)
    trainer, config = Trainer(PRIOR), LearningConfig()
    state = trainer.step(Learned.fresh(PRIOR), [lesson(n, chance) for n in range(STEP)]).state
    weights = serving_weights(trainer.promote(state).state, None, PRIOR, config)
    options, policy = POINTS["route"], Policy.of(1, weights, exploration(STEP, config))
    contexts = [{name: chance.random() for name in NAMES} for _ in range(100)]

    def choose() -> None:
        for seed, features in enumerate(contexts):
            Chooser(policy, seed).choose("route", options, features)

    return {"choice_us": _microseconds(choose, CHOICES // len(contexts)) / len(contexts)}


def _microseconds(call: Callable[[], None], times: int) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return 1e6 * statistics.median(taken)


def measure() -> dict[str, Any]:
    """Measure both."""
    measured = {**steps(), **choices()}
    goals = {name: {"goal": goal, "passed": measured[name] < goal} for name, goal in GOALS.items()}
    return {"cores": os.cpu_count(), "steps": STEPS, **measured, "goals": goals}


def main() -> None:
    """Measure, print, and write the results."""
    measured = measure()
    table = Table("", "measured", "goal")
    for name, value in measured.items():
        if isinstance(value, float):
            goal = GOALS.get(name)
            table.add_row(name, f"{value:.2f}", "" if goal is None else f"< {goal:.0f}")
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "learning_cost.json").write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
