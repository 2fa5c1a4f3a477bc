"""The command that hands labelled trajectories to analysts."""

from pathlib import Path
from typing import Annotated

import typer

from memstream.cli.shell import app, moment, names_of, run
from memstream.display import console, errors
from memstream.runtime import with_running_parts
from memstream.settings import load_settings


@app.command("export")
def export_(
    out: Annotated[Path, typer.Option(help="The file to write; one that is there is replaced.")],
    form: Annotated[str, typer.Option("--format", help="parquet or jsonl")] = "parquet",
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="Only this tenant's.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", help="Searches begun at or after, 2026-11-16 or 2026-11-16T09:30:00Z."
        ),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Searches begun before.")] = None,
    all_revisions: Annotated[
        bool, typer.Option("--all-revisions", help="Also labels that were corrected later.")
    ] = False,
) -> None:
    """Write labelled trajectories to a file, the newest revision of each."""
    from memstream.broker import broker_of
    from memstream.cli.progress import progress_bar
    from memstream.export import FORMATS, ExportError, Period, export

    if form not in FORMATS:
        raise ExportError(f"there is no format {form!r}: use {' or '.join(FORMATS)}")
    period = Period(moment("--from", since), moment("--until", until))
    settings = with_running_parts(load_settings())
    with progress_bar() as advance:
        exported = run(
            export(
                *(broker_of(settings), names_of(settings), out, form, advance),
                tenant_id=tenant,
                period=period,
                all_revisions=all_revisions,
            )
        )
    if exported.gone:
        errors.print(f"{exported.gone} were deleted by the broker before they could be written")
    if exported.unreadable:
        errors.print(f"{exported.unreadable} messages are not trajectories of this version")
    console.print(f"{exported.rows} trajectories written to {out}", soft_wrap=True, markup=False)
