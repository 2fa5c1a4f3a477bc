"""What people see of a policy and its history."""

from typing import Any

from rich.markup import escape
from rich.table import Column, Table

from learning.events import WHOLE
from memstream.display import console

SHOWN = 1e-9
"""Weights that differ by less from what they were are the same."""


def show_policy(report: dict[str, Any], *, everything: bool) -> None:
    """Show what serves a tenant, and what waits."""
    table = Table(title=f"policy of {escape(report['tenant_id'])}", show_header=False)
    live = report["live"]
    facts = {
        "version": f"{report['version']}" + ("" if report["version"] else " (the shipped policy)"),
        "since": report["served_at"] or "always",
        "learned from": f"{report['trained']} searches in {report['steps']} steps, "
        f"{report['pending']} waiting",
        "exploration": f"{report['exploration_rate']:.3f}",
        "baseline": _number(report["baseline"]),
        "reward of this version": _interval(live) if live else "—",
        "signals": _signals(report["signals"]),
        "suspended": f"until {report['suspended_until']} searches" if report["suspended"] else "no",
        "other tenants": _others(report),
    }
    for name, value in facts.items():
        table.add_row(name, escape(value))
    console.print(table)
    _show_staged(report["staged"])
    _show_weights(report, everything=everything)


def show_history(entries: list[dict[str, Any]], tenant_id: str) -> None:
    """Show what became of a policy, the newest first."""
    table = Table(
        *(Column(name, no_wrap=True) for name in ("at", "what", "version", "searches")),
        *("by", "why"),
        title=f"history of {escape(tenant_id)}",
    )
    for entry in entries:
        judged = "" if entry.get("estimate") is None else f": {_interval(entry)}"
        why = f"{entry['why'] or entry.get('reason') or ''}{judged}"
        table.add_row(
            *(f"{entry['at'][5:10]} {entry['at'][11:16]}", _what(entry)),
            *(str(entry["version"]), str(entry["trained"])),
            *(escape(entry["actor"] or ""), escape(why)),
        )
    console.print(table if entries else "nothing has become of this policy yet")


def _what(entry: dict[str, Any]) -> str:
    part = entry.get("part")
    return entry["kind"] if part in (None, WHOLE) else escape(f"{entry['kind']} {part}")


def _show_staged(staged: dict[str, Any]) -> None:
    if not staged:
        console.print("nothing waits to be promoted")
        return
    table = Table("part", "searches", "better by", "state", title="what waits to be promoted")
    for part, trial in staged.items():
        needed = trial["lessons_needed"]
        state = f"{needed} more to judge it" if needed else "staged: not shown to be better yet"
        table.add_row(escape(part), str(trial["lessons"]), _interval(trial), state)
    console.print(table)


def _show_weights(report: dict[str, Any], *, everything: bool) -> None:
    shares = report["learns_from_others"]
    moved = {
        name: each
        for name, each in report["weights"].items()
        if everything or abs(each["weight"] - each["prior"]) > SHOWN
    }
    if not moved:
        console.print(f"every weight is as {'the global prior' if shares else 'shipped'}")
        return
    # With others, what it began with is what all have learned together.
    table = Table("weight", "learned", *(["global prior"] if shares else []), "shipped", "moved")
    for name, each in moved.items():
        learned, prior = each["weight"], each["prior"]
        began = [f"{prior:.3f}"] if shares else []
        numbers = (f"{learned:.3f}", *began, f"{each['shipped']:.3f}", f"{learned - prior:+.3f}")
        table.add_row(escape(name), *numbers)
    console.print(table)


def _signals(seen: dict[str, Any]) -> str:
    """Return whether what is used had to do with what was shown: if not, little is promoted."""
    tells = "tell memories apart" if seen["tell"] else "not seen to tell memories apart yet"
    return f"{tells} ({seen['lists']} lists)"


def _others(report: dict[str, Any]) -> str:
    takes = "learns from them" if report["learns_from_others"] else "nothing taken from them"
    gives = "they learn from it" if report["contributes"] else "nothing given to them"
    return f"{takes}, {gives}"


def _interval(told: dict[str, Any]) -> str:
    """Return an estimate with its interval, as far as there is one."""
    if told.get("estimate") is None:
        return "—"
    if told.get("lower") is None:
        return _number(told["estimate"])
    return f"{told['estimate']:.3f} ({told['lower']:.3f} to {told['upper']:.3f})"


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"
