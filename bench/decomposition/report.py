"""Shows what was measured: tables, a plot, and JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from rich.console import Console
from rich.table import Table

from bench.search.report import RESULTS, show_goals


def show(measured: dict[str, Any], console: Console) -> None:
    """Print the tables, goals last."""
    console.print(", ".join(f"{name} {value}" for name, value in measured["machine"].items()))
    console.print(_latencies("router, simple questions", measured["router"]["times"]))
    for name, rows in measured["decomposition"].items():
        console.print(_taken_apart(f"decomposition, {name}", rows))
    kinds = {kind: measured["lanes"][kind] for kind in ("alone", "beside")}
    console.print(_latencies("searches through Kafka", kinds))
    disturbed = {kind: measured["chaos"][kind] for kind in ("simple", "complex")}
    console.print(_latencies("searches through Kafka, in chaos", disturbed))
    console.print(
        _facts("chaos", {k: v for k, v in measured["chaos"].items() if k not in disturbed})
    )
    show_goals(measured, console)


def _facts(title: str, facts: Mapping[str, Any]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in facts.items():
        told = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        table.add_row(name.replace("_", " "), str(told))
    return table


def _latencies(title: str, rows: Mapping[str, Any]) -> Table:
    table = Table("", "p50 ms", "p95 ms", title=title, title_justify="left")
    for name, row in rows.items():
        table.add_row(name, f"{row['p50_ms']:.2f}", f"{row['p95_ms']:.2f}")
    return table


def _taken_apart(title: str, rows: Mapping[str, Any]) -> Table:
    columns = ("", "p50 ms", "p95 ms", "queries", "most")
    table = Table(*columns, title=title, title_justify="left")
    for name, row in rows.items():
        times = [f"{row[percent]:.1f}" for percent in ("p50_ms", "p95_ms")]
        table.add_row(name, *times, f"{row['queries']:.1f}", str(row["most"]))
    return table


def plot(measured: dict[str, Any], file: Path) -> None:
    """Draw p50 (bars) and p95 (ticks) of everything that is held against something."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    apart = {
        f"{name}\n{route}": row
        for name, rows in measured["decomposition"].items()
        for route, row in rows.items()
    }
    lanes = {kind: measured["lanes"][kind] for kind in ("alone", "beside")}
    drawn = {"router": measured["router"]["times"], "decomposition": apart, "lanes": lanes}
    figure, all_axes = plt.subplots(1, len(drawn), figsize=(12, 4), layout="constrained")
    for axes, (title, rows) in zip(all_axes, drawn.items(), strict=True):
        places = range(len(rows))
        axes.bar(places, [row["p50_ms"] for row in rows.values()], 0.7)
        axes.plot(places, [row["p95_ms"] for row in rows.values()], "_", color="black", ms=14)
        names = [name.replace(", ", ",\n") for name in rows]
        axes.set_xticks(list(places), names, fontsize="small")
        axes.set_title(title)
        axes.set_ylabel("ms: p50, and p95 (–)")
    figure.savefig(file)
    plt.close(figure)


def write(measured: dict[str, Any]) -> None:
    """Write decomposition.json and decomposition.svg."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(measured, indent=2, ensure_ascii=False)
    (RESULTS / "decomposition.json").write_text(text + "\n", encoding="utf-8")
    plot(measured, RESULTS / "decomposition.svg")
