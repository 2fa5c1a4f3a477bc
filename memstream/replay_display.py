"""What people see of a replay: tables, and a plot."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from memstream.display import console
from memstream.embedded.process import PartError
from memstream.replay import changes

ESTIMATES = {"logged": "as logged", "ips": "IPS", "snips": "SNIPS", "dr": "doubly robust"}


MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "—"}


def show_comparison(compared: dict[str, dict[str, Any]], unreadable: int = 0) -> None:
    """Show for each tenant whether the log gives what was learned live, and what serves."""
    table = Table("tenant", "steps", "replayed", "same", "serves", "why")
    for tenant, one in compared.items():
        marks = (MARKS[one["identical"]], MARKS[one["serves"]])
        steps = (str(one["steps"]), str(one["replayed_steps"]))
        table.add_row(escape(tenant), *steps, *marks, escape(one["why"]))
    console.print(table if compared else "the topic holds no trajectories")
    if unreadable := unreadable + sum(one["unreadable"] for one in compared.values()):
        console.print(
            f"{unreadable} of the topic's messages could not be read and were passed over, as the "
            "service does, which keeps them as dead letters"
        )


def difference(compared: dict[str, dict[str, Any]]) -> str | None:
    """Return in one line which tenants' policies are not what the log gives; None if all are."""
    others = {name: one["why"] for name, one in compared.items() if not one["identical"]}
    if not others:
        return None
    first, why = next(iter(others.items()))
    more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
    return f"the log does not give the live policy of {first}{more}: {why}"


def show_what_if(tenant: str, as_it_is: dict[str, Any], tried: dict[str, Any]) -> None:
    """Show what would have come of learning in another way."""
    table = Table("", "as it is", "what if", title=f"{escape(tenant)}, {tried['trained']} searches")
    for name in ("version", "exploration_rate", "events"):
        table.add_row(name.replace("_", " "), *(_plain(one[name]) for one in (as_it_is, tried)))
    for point in sorted({*as_it_is["estimates"], *tried["estimates"]}):
        for kind, title in ESTIMATES.items():
            cells = [
                _estimate(one["estimates"].get(point, {}).get(kind)) for one in (as_it_is, tried)
            ]
            table.add_row(f"{escape(point)}: {title}", *cells)
    for name, one, two in changes(as_it_is["weights"], tried["weights"]):
        if one != two:
            table.add_row(escape(name), f"{one:.3f}", f"{two:.3f}")
    console.print(table)


def plot_what_if(tenant: str, as_it_is: dict[str, Any], tried: dict[str, Any], file: Path) -> None:
    """Draw estimates with their intervals, weights, and which version would have served when."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise PartError("plots need matplotlib: pip install matplotlib") from None
    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    for shift, (name, one) in enumerate((("as it is", as_it_is), ("what if", tried))):
        points = sorted(one["estimates"])
        estimates = [one["estimates"][point]["dr"] for point in points]
        below = [each["value"] - each["lower"] for each in estimates]
        above = [each["upper"] - each["value"] for each in estimates]
        places = [place + 0.2 * shift for place in range(len(points))]
        values = [each["value"] for each in estimates]
        left.errorbar(places, values, yerr=[below, above], fmt="o", capsize=4, label=name)
        left.set_xticks(range(len(points)), points)
        searches, versions = zip(*one["versions"], strict=True)
        right.step(searches, versions, where="post", label=name)
    moved = changes(as_it_is["weights"], tried["weights"])[::-1]
    for shift, name in enumerate(("as it is", "what if")):
        places = [place + 0.4 * shift for place in range(len(moved))]
        middle.barh(places, [each[1 + shift] for each in moved], 0.4, label=name)
    middle.set_yticks(range(len(moved)), [each[0] for each in moved], fontsize="x-small")
    left.set_title("reward by doubly robust estimate, 95 %")
    middle.set_title("weights that differ most")
    right.set_title("version that serves")
    right.set_xlabel("searches learned from")
    for axes in (left, middle, right):
        axes.legend(fontsize="small")
    figure.suptitle(tenant)
    figure.savefig(file)
    plt.close(figure)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number} {kind}" for kind, number in value.items()) or "none"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _estimate(one: dict[str, Any] | None) -> str:
    return f"{one['value']:.3f} ({one['lower']:.3f} to {one['upper']:.3f})" if one else "—"
