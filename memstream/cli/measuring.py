"""The command that measures."""

import json
from pathlib import Path
from typing import Annotated

import typer

from memstream.cli.shell import Database, app, run
from memstream.display import console, show_quality
from memstream.settings import load_settings


@app.command("eval")
def eval_(
    dataset: Annotated[Path, typer.Option(help="A folder with memories.jsonl and queries.jsonl.")],
    k: Annotated[int, typer.Option(min=1, max=100, help="How many results count.")] = 10,
    route: Annotated[str, typer.Option(help="auto (as in service), standard or rlm.")] = "auto",
    several: Annotated[
        bool, typer.Option("--several", help="Only questions with several pieces of evidence.")
    ] = False,
    database: Database = None,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Beside it vector, BM25 and RRF alone.")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Rank without this group of features, such as session; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Measure retrieval quality on a dataset, in a store of its own."""
    from memstream.cli.progress import progress_bar
    from memstream.evaluation.dataset import DatasetError, read_dataset, read_route
    from memstream.logs import set_up_logs
    from retrieval.ranking import GROUPS

    for group in without or ():
        if group not in GROUPS:
            raise DatasetError(f"there is no group of features {group!r}: use {', '.join(GROUPS)}")
    chosen_route, data = read_route(route), read_dataset(dataset)
    settings = load_settings(database=database)
    set_up_logs(settings.log_format)
    from memstream.evaluation.run import evaluate  # onnxruntime and asyncpg are slow to import

    with progress_bar() as advance:
        measured = run(
            evaluate(
                *(data, settings, k, advance),
                route=chosen_route,
                several=several,
                baseline=baseline,
                without=without or (),
            )
        )
    if as_json:
        console.print_json(json.dumps(measured))
    else:
        show_quality(measured)
