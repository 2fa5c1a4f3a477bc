"""The command that learns once more from the log."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from memstream.cli.shell import app, moment, names_of, run
from memstream.display import console, errors
from memstream.runtime import with_running_parts
from memstream.settings import Settings, load_settings


@app.command()
def replay(
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE…", help="More of what --what-if is to try."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Only what was written since, 2026-11-16 or 2026-11-16T09:30:00Z.",
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="Only this tenant's.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Also learn with another reward or parameter; repeatable."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what would have been: a .png or .svg file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Rebuild every policy from the trajectories, and compare with what was learned live."""
    from memstream.replay_display import difference, plot_what_if, show_comparison, show_what_if
    from memstream.what_if import WhatIfError

    if more and not what_if:
        raise WhatIfError(f"{more[0]!r}: write --what-if before what is to be tried")
    settings = with_running_parts(load_settings())
    trying = [*(what_if or []), *(more or [])]
    report = run(_replayed(settings, moment("--from", since), tenant, trying))
    tenants: dict[str, Any] = report["tenants"]
    live = {name: one["live"] for name, one in tenants.items()}
    if as_json:
        console.print_json(json.dumps(report))
    else:
        show_comparison(live, report["unreadable"])
        for name, one in tenants.items() if what_if else ():
            show_what_if(name, one["as_it_is"], one["what_if"])
    if plot and what_if and tenants:
        name = max(tenants, key=lambda each: tenants[each]["as_it_is"]["trained"])
        plot_what_if(name, tenants[name]["as_it_is"], tenants[name]["what_if"], plot)
    if not since and (told := difference(live)):
        errors.print(f"[red]error:[/] {escape(told)}", soft_wrap=True)
        raise typer.Exit(1)


async def _replayed(
    settings: Settings, since: datetime | None, tenant: str | None, what_if: list[str]
) -> dict[str, Any]:
    from learning.config import LearningConfig
    from learning.hindsight import Hindsight
    from learning.pupil import Pupil
    from learning.rewards import RewardWeights
    from memstream.broker import broker_of
    from memstream.labelled import TrajectoryLog
    from memstream.replay import Replay
    from memstream.what_if import read_what_if
    from memstream.wiring import build_pupil

    names = names_of(settings)
    logged = RewardWeights(settings.reward_success, settings.reward_efficiency)
    trying = read_what_if(what_if, logged) if what_if else None

    def pupil(config: LearningConfig, hindsight: Hindsight) -> Pupil:
        return build_pupil(settings, names, config, hindsight.look)

    from memstream.parts import open_store  # asyncpg and numpy are slow to import

    store = await open_store(settings)
    try:
        replay = Replay(store, pupil, trying, tenant)
        async with TrajectoryLog.open(broker_of(settings), names, since) as log:
            await replay.read(log)
            live = await replay.compare(log, whole=since is None)
    finally:
        await store.close()
    return {
        "from": since and since.isoformat(),
        "what_if": what_if,
        "unreadable": log.unreadable,
        "tenants": {
            name: {
                "live": live[name],
                "as_it_is": replay.passes[name].report(),
                **({"what_if": replay.tried[name].report()} if trying else {}),
            }
            for name in live
        },
    }
