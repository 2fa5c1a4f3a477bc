"""What the command line shows to people."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from memstream.runtime import Runtime
from models import InForce, TenantOverrides, Trajectory

if TYPE_CHECKING:
    from memstream_client import SearchResult  # aiokafka is slow to import

console = Console()
errors = Console(stderr=True)


def age(passed: timedelta) -> str:
    """Return how long ago something was, as precisely as it matters."""
    seconds = max(passed.total_seconds(), 0)
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def show_runtime(runtime: Runtime) -> None:
    """Say where everything is, and what to try first."""
    console.print("\n[bold green]memstream is ready[/]")
    lines = (
        ("console", runtime.web),
        ("broker", runtime.broker),
        ("database", re.sub(r"(?<=:)[^:@/]+(?=@)", "…", runtime.database)),
        ("try", '.venv/bin/memstream remember "Alice is allergic to nuts" --tenant demo'),
        ("", '.venv/bin/memstream search "what must Alice not eat?" --tenant demo'),
        ("stop", "Ctrl-C"),
    )
    for name, what in lines:
        console.print(f"  [dim]{name:9}[/] {escape(what)}", soft_wrap=True, highlight=False)


def show_quality(measured: dict[str, Any]) -> None:
    """Show an evaluation by category, and beside it what other ways find."""
    title = f"{measured['dataset']}: the best {measured['k']} of a search"
    others: dict[str, dict[str, Any]] = measured.get("baselines", {})
    table = Table("category", "queries", "recall", "all evidence", "MRR", *others, title=title)
    for name, row in {**measured["by_category"], "all": measured}.items():
        cells = [f"{row[key]:.3f}" for key in ("recall", "all_evidence", "mrr")]
        for other in others.values():
            beside = {**other["by_category"], "all": other}[name]
            cells.append(f"{beside['recall']:.3f} / {beside['all_evidence']:.3f}")
        table.add_row(escape(name), str(row["queries"]), *cells)
    console.print(table)
    if others:
        console.print("beside it: recall / all evidence of each way alone")
    console.print(f"a search took {measured['p50_ms']} ms (p50), {measured['p95_ms']} ms (p95)")


def show_simulation(dataset: str, reports: Sequence[dict[str, Any]]) -> None:
    """Show what learning came to beside a frozen policy, seed by seed."""
    title = f"{dataset}: the last quarter of {reports[0]['rounds']} rounds"
    table = Table("seed", "", "reward", "recall", "tokens", "decomposed", title=title)
    for report in reports:
        known = report.get("fixed", {})
        best = report["regret"]["against"] if known else "frozen"
        # Of all that is fixed, both routes as they are shipped and the best one tell most.
        shown = {name: known[name] for name in ("standard", "rlm", best) if name in known}
        ways = {"frozen": report["frozen"], **shown, "learned": report["learned"]}
        for place, (name, row) in enumerate(ways.items()):
            seed = str(report["seed"]) if place == 0 else ""
            cells = [f"{row[key]:.3f}" for key in ("reward", "recall", "tokens")]
            table.add_row(seed, name, *cells, f"{row['routes'].get('rlm', 0.0):.0%}")
        apart = {name: _apart(one) for name, one in report["difference"].items()}
        table.add_row("", "[bold]difference[/]", apart["reward"], apart["recall"], "", "")
        if behind := report.get("regret"):
            told = f"{behind['first_quarter']:+.3f} → {behind['last_quarter']:+.3f}"
            table.add_row("", f"behind {escape(best)}, first → last quarter", told, "", "", "")
        if alone := report.get("kept_apart"):
            told = f"{alone['frozen']:.3f} → {alone['learned']:.3f}"
            table.add_row("", "kept apart: frozen → learned", "", told, "", "")
        table.add_section()
    console.print(table)
    console.print(
        "differences are of the same users in the same rounds, with 95 % intervals by question"
    )


def _apart(one: dict[str, Any]) -> str:
    if one["lower"] is None:
        return f"{one['mean']:+.3f}"
    return f"{one['mean']:+.3f} [dim]({one['lower']:+.3f} … {one['upper']:+.3f})[/]"


def show_trajectory(trajectory: Trajectory, as_json: bool) -> None:
    """Show what came of one search, in a line."""
    if as_json:
        console.print(trajectory.model_dump_json(), soft_wrap=True, markup=False, highlight=False)
        return
    outcome = trajectory.outcome
    came = {
        "result_used": f"[green]used[/] {outcome.quality_score}",
        "query_refined": f"[yellow]reworded[/] {escape(repr(outcome.new_query))}",
        "result_ignored": "[red]ignored[/]",
        "no_signal": "[dim]no signal[/]",
    }[outcome.type]
    console.print(
        f"[dim]{trajectory.labelled_at:%H:%M:%S}[/] {escape(trajectory.tenant_id)} "
        f"{trajectory.reward:+.2f} {came} [dim]({trajectory.result_count} results, revision "
        f"{trajectory.revision})[/] {escape(repr(trajectory.query))}",
        soft_wrap=True,
        highlight=False,
    )


def show_result(result: "SearchResult", as_json: bool) -> None:
    """Show what a search found."""
    if as_json:
        console.print_json(result.model_dump_json())
    elif not result.results:
        console.print("nothing found")
    else:
        table = Table("score", "similarity", "layer", Column("memory", overflow="fold"), "content")
        for found in result.results:
            similarity = "" if found.similarity is None else f"{found.similarity:.3f}"
            table.add_row(
                *(f"{found.score:.3f}", similarity, found.layer),
                *(escape(found.memory_id), escape(found.content)),
            )
        console.print(table)
        console.print(f"[dim]request {escape(result.request_id)}[/]", highlight=False)


def show_tenant(
    tenant_id: str, overrides: TenantOverrides, service: InForce, as_json: bool
) -> None:
    """Show what a tenant is served by, and what of that is its own."""
    in_force, own = (
        overrides.in_force(service),
        overrides.model_dump(mode="json", exclude_none=True),
    )
    if as_json:
        shown = {"tenant_id": tenant_id, "in_force": in_force.model_dump(mode="json")}
        console.print_json(json.dumps({**shown, "overrides": own}))
        return
    values = in_force.model_dump(mode="json")
    table = Table("key", Column("value", overflow="fold"), "whose", title=escape(tenant_id))
    for key in type(overrides).model_fields:
        value = json.dumps(values[key], ensure_ascii=False)
        table.add_row(key, escape(value), "[bold]tenant[/]" if key in own else "default")
    console.print(table)
