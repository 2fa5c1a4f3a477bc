"""Shows what was measured: tables, a plot, and JSON."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parents[1] / "results"
VERDICT = {True: "[green]pass[/]", False: "[red]FAIL[/]", None: "[yellow]no verdict[/]"}


def show(measured: dict[str, Any], console: Console) -> None:
    """Print the tables, goals last."""
    machine = ", ".join(f"{name} {value}" for name, value in measured["machine"].items())
    console.print(machine)
    for name, rows in measured["hybrid"].items():
        console.print(_race(f"hybrid search, {name}", rows))
    for name, rows in measured["datasets"].items():
        console.print(_race(f"dataset {name}", rows))
    for name, rows in measured["embedded"].items():
        console.print(_race(f"exact search, {name}", rows))
    rates = Table("ingest", "memories/s", title="ingest, embedding included")
    for name, rate in measured["ingest"].items():
        rates.add_row(name, f"{rate:.0f}")
    console.print(rates)
    one = measured["query_embedding"]
    console.print(
        f"embedding a query (in none of the search times above): "
        f"p50 {one['p50_ms']:.1f} ms, p95 {one['p95_ms']:.1f} ms"
    )
    show_goals(measured, console)


def show_goals(measured: dict[str, Any], console: Console) -> None:
    """Print which goals were met, and what to know of the numbers."""
    goals = Table("ratio", "value", "lowest–highest", "goal", "", title="goals")
    for goal in measured["goals"]:
        spread = "–".join(f"{end:.2f}" for end in goal["spread"] or ())
        verdict = VERDICT[goal["passed"]]
        goals.add_row(goal["name"], f"{goal['value']:.2f}", spread, goal["goal"], verdict)
    console.print(goals)
    doubts = dict.fromkeys(goal["doubt"] for goal in measured["goals"] if goal["doubt"])
    for note in (*measured["notes"], *(f"in doubt: {doubt}" for doubt in doubts)):
        console.print(f"note: {note}")


def _race(title: str, rows: dict[str, Any]) -> Table:
    table = Table("", "p10 ms", "p50 ms", "p95 ms", "recall@10", title=title, title_justify="left")
    for name, row in rows.items():
        recall = f"{row['recall']:.3f}" if "recall" in row else "–"
        times = [f"{row[name]:.1f}" for name in ("p10_ms", "p50_ms", "p95_ms")]
        table.add_row(name, *times, recall)
    return table


def plot(measured: dict[str, Any], file: Path) -> None:
    """Draw p50 (bars) with p95 (ticks) and recall of everyone, tenant by tenant."""
    mpl.use("agg")
    from matplotlib import pyplot as plt

    tenants = measured["hybrid"]
    names = list(next(iter(tenants.values())))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    width = 0.85 / len(names)
    for n, name in enumerate(names):
        rows = [rows[name] for rows in tenants.values()]
        places = [place + n * width for place in range(len(rows))]
        left.bar(places, [row["p50_ms"] for row in rows], width * 0.9, label=name, color=f"C{n}")
        left.plot(places, [row["p95_ms"] for row in rows], "_", color="black", markersize=9)
        if "recall" in rows[0]:
            right.bar(places, [row["recall"] for row in rows], width * 0.9, color=f"C{n}")
    for axes, what in ((left, "search, ms: p50, and p95 (–)"), (right, "known-item recall@10")):
        axes.set_xticks([n + 0.4 for n in range(len(tenants))], list(tenants))
        axes.set_ylabel(what)
    right.set_ylim(0, 1)
    figure.suptitle(f"hybrid search in {measured['machine']['memories']} memories")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(file, dpi=130)


def write(measured: dict[str, Any]) -> None:
    """Write search.json and search.png."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(measured, indent=2, ensure_ascii=False)
    (RESULTS / "search.json").write_text(text + "\n", encoding="utf-8")
    plot(measured, RESULTS / "search.png")
