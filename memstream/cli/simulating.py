"""The command that simulates."""

import json
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from memstream.cli.shell import Database, app, run
from memstream.display import console, show_simulation
from memstream.settings import load_settings


@app.command()
def simulate(
    dataset: Annotated[Path, typer.Option(help="A folder with memories.jsonl and queries.jsonl.")],
    rounds: Annotated[int, typer.Option(min=4, help="How many questions are asked.")] = 3000,
    seed: Annotated[int, typer.Option(help="What everything left to chance is drawn from.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="Go on with so many seeds, and compare.")] = 1,
    cold: Annotated[
        bool, typer.Option("--cold", help="From equal weights instead of the shipped prior.")
    ] = False,
    users: Annotated[str, typer.Option(help="honest, noise, inverted or poisoned.")] = "honest",
    users_of: Annotated[
        str | None, typer.Option(help="Only this tenant's users are so; all others' are honest.")
    ] = None,
    regret: Annotated[
        bool,
        typer.Option(
            "--regret", help="Also against the best fixed configuration in hindsight; takes longer."
        ),
    ] = False,
    keep_apart: Annotated[
        str | None,
        typer.Option(help="A tenant that asks only in the end, served by what others learned."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write what was learned in the end to this file, as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the learning curves (.png or .svg).")
    ] = None,
    database: Database = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Let simulated users ask, use, reword and give up: with learning, and on a frozen policy."""
    from memstream.cli.progress import progress_bar
    from memstream.evaluation.dataset import DatasetError, read_dataset
    from memstream.logs import set_up_logs
    from memstream.simulation.plot import check_kind
    from memstream.simulation.plot import plot as draw
    from memstream.simulation.report import report
    from memstream.simulation.run import simulate as run_simulation
    from memstream.simulation.users import Mood, Users
    from retrieval.ranking import EQUAL, PRIOR

    if users not in get_args(Mood):
        raise DatasetError(f"there are no {users!r} users: use {', '.join(get_args(Mood))}")
    if plot is not None:
        check_kind(plot)
    questions = read_dataset(dataset)
    settings = load_settings(database=database)
    set_up_logs(settings.log_format)
    reports: list[dict[str, Any]] = []
    with progress_bar() as advance:
        for number in range(seed, seed + seeds):
            came = run(
                run_simulation(
                    *(questions, settings, rounds, number, EQUAL if cold else PRIOR, advance),
                    users=Users(mood=cast(Mood, users)),
                    of=users_of,
                    regret=regret,
                    keep_apart=keep_apart,
                )
            )
            reports.append({"seed": number, **report(came)})
            if save is not None:
                told = {tenant: dict(weights) for tenant, (_, weights) in came.policies.items()}
                save.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    if plot is not None:
        draw(reports, f"{questions.name}{', cold' if cold else ''}", plot)
    if as_json:
        console.print_json(json.dumps(reports[0] if seeds == 1 else {"seeds": reports}))
    else:
        show_simulation(questions.name, reports)
