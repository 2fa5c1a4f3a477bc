"""``python -m bench.learning [--quick] [--dataset DIR]``: race, print, write the results."""

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.learning import contexts
from bench.learning.ours import Memstream
from bench.learning.race import Frozen, Learner, Round, run
from bench.learning.searches import rounds_of
from bench.learning.vowpal import Vowpal
from bench.progress import progress_bars

RESULTS = Path(__file__).parents[1] / "results"
SEEDS = (1, 2, 3)
OURS = "memstream"
LEARNERS: dict[str, Callable[[], Learner]] = {
    OURS: Memstream,
    "memstream, no gate": lambda: Memstream(gated=False),
    "vowpal wabbit, mtr": lambda: Vowpal("mtr"),
    "vowpal wabbit, dr": lambda: Vowpal("dr"),
}
TASKS = {"route": contexts.route, "recipe": contexts.recipe, "settled": contexts.settled}


def race(rounds: Sequence[Round], seed: int) -> dict[str, list[float]]:
    """Return what everybody earns on the same rounds, round by round."""
    earned = {name: run(make(), rounds, seed) for name, make in LEARNERS.items()}
    return {**earned, "frozen": run(Frozen(), rounds, seed, explores=False)}


def measure(
    count: int, folders: Sequence[Path] = (), seeds: Sequence[int] = SEEDS
) -> dict[str, Any]:
    """Race on every task with every seed: made-up ones, and searches of datasets."""
    tasks = {name: [make(count, seed) for seed in seeds] for name, make in TASKS.items()}
    with progress_bars(Console(stderr=True)) as advance:
        for folder in folders:
            tasks[f"routes of {folder.name}"] = asyncio.run(
                rounds_of(folder, count, seeds, advance)
            )
    told: dict[str, Any] = {}
    for task, rounds in tasks.items():
        races = [race(one, seed) for one, seed in zip(rounds, seeds, strict=True)]
        told[task] = {
            name: {
                "mean": [statistics.mean(one[name]) for one in races],
                "last quarter": [statistics.mean(one[name][-count // 4 :]) for one in races],
            }
            for name in races[0]
        }
    return {"rounds": count, "seeds": list(seeds), "tasks": told}


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the rounds")
    parser.add_argument("--dataset", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--seed", type=int, default=SEEDS[0], metavar="N", help="the first seed")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), metavar="N", help="so many seeds")
    chosen = parser.parse_args()
    count = 1000 if chosen.quick else 3000
    measured = measure(count, chosen.dataset, range(chosen.seed, chosen.seed + chosen.seeds))
    console = Console()
    for task, rows in measured["tasks"].items():
        table = Table(
            "", "mean reward", "last quarter", "each seed", title=f"{task}, {count} rounds"
        )
        for name, row in rows.items():
            seeds = " ".join(f"{mean:.3f}" for mean in row["mean"])
            means = [f"{statistics.mean(row[part]):.4f}" for part in ("mean", "last quarter")]
            table.add_row(name, *means, seeds)
        console.print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "learning.json").write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
