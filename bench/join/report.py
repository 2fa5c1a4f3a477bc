"""Shows what was measured: tables, a plot, and JSON."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from rich.console import Console
from rich.table import Table

from bench.search.report import RESULTS, show_goals


def show(measured: dict[str, Any], console: Console) -> None:
    """Print the tables, goals last."""
    console.print(", ".join(f"{name} {value}" for name, value in measured["machine"].items()))
    for title, rows in measured["races"].items():
        table = Table("", "events/s", "of each round", "CPU µs an event", title=title)
        for name, row in rows.items():
            rounds = " ".join(f"{rate:,}" for rate in row["all"])
            table.add_row(name, f"{row['events_per_s']:,}", rounds, str(row["cpu_us"]))
        console.print(table)
    steps = list(next(iter(measured["open"].values()))["us"])
    table = Table("open searches", *steps, title="µs an event: median (lowest)")
    for size, row in measured["open"].items():
        pairs = ((row["us"][step], row["lowest_us"][step]) for step in steps)
        table.add_row(size, *(f"{median:.0f} ({lowest:.0f})" for median, lowest in pairs))
    console.print(table)
    for size, row in measured["open"].items():
        idle = ", ".join(f"{name} {value} ms" for name, value in row["looking_ms"].items())
        console.print(f"seeing that nothing is due with {size} open: {idle}")
    show_goals(measured, console)


def plot(measured: dict[str, Any], file: Path) -> None:
    """Draw events/s of everyone, and what an event costs by how much is open."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    races = measured["races"]
    names = list(next(iter(races.values())))
    width = 0.8 / len(names)
    for n, name in enumerate(names):
        places = [place + n * width for place in range(len(races))]
        rates = [rows[name]["events_per_s"] for rows in races.values()]
        left.bar(places, rates, width * 0.9, label=name)
    left.set_xticks([place + 0.27 for place in range(len(races))], list(races))
    left.set_ylabel("events/s")
    left.legend()
    sizes = list(measured["open"])
    for step in next(iter(measured["open"].values()))["us"]:
        costs = [measured["open"][size]["us"][step] for size in sizes]
        right.plot(range(len(sizes)), costs, marker="o", label=step)
    right.set_xticks(range(len(sizes)), sizes)
    right.set_xlabel("open searches")
    right.set_ylabel("µs an event")
    right.set_ylim(0)
    right.legend(fontsize="small")
    figure.savefig(file)
    plt.close(figure)


def write(measured: dict[str, Any]) -> None:
    """Write join.json and join.svg."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(measured, indent=2, ensure_ascii=False)
    (RESULTS / "join.json").write_text(text + "\n", encoding="utf-8")
    plot(measured, RESULTS / "join.svg")
