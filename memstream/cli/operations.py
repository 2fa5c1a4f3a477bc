"""Commands that run memstream and look after its parts."""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from memstream.cli.shell import Broker, Database, app, names_of, run, until_signalled
from memstream.display import console, errors, show_runtime
from memstream.runtime import with_running_parts
from memstream.settings import load_settings


@app.command()
def up(broker: Broker = None, database: Database = None) -> None:
    """Run the whole service: broker, store, embedder, agents, console. Ctrl-C stops it."""
    from memstream.logs import set_up_logs
    from memstream.up import run_up

    settings = load_settings(broker=broker, database=database)
    set_up_logs(settings.log_format, settings.log_level)

    def progress(step: str) -> None:
        errors.print(f"[dim]… {escape(step)}[/]")

    until_signalled(
        lambda stopped: run_up(settings, stopped, progress, lambda runtime: show_runtime(runtime))
    )


@app.command()
def worker(broker: Broker = None, database: Database = None) -> None:
    """Run the agents only, against configured parts."""
    import uvloop

    from memstream.logs import set_up_logs
    from memstream.worker import run_worker

    settings = with_running_parts(load_settings(broker=broker, database=database))
    set_up_logs(settings.log_format, settings.log_level)
    # A policy and not a loop: the thread that talks to the broker has a loop of its own.
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    until_signalled(lambda stopped: run_worker(settings, stopped))


@app.command()
def topics(
    create: Annotated[bool, typer.Option(help="Create the topics that are missing.")] = False,
) -> None:
    """List the topics and their partitions on the broker."""
    from memstream.broker import broker_of
    from memstream.topology import ensure_topics, topic_states

    settings = with_running_parts(load_settings())
    broker, names = broker_of(settings), names_of(settings)
    if create:
        run(ensure_topics(broker, names, settings.partitions))
    table = Table("topic", "partitions")
    for state in run(topic_states(broker, names)):
        table.add_row(state.name, str(state.partitions) if state.partitions else "[red]missing[/]")
    console.print(table)


@app.command()
def migrate(database: Database = None) -> None:
    """Bring the database up to the schema of this version."""
    from memstream.parts import migrate_store

    settings = with_running_parts(load_settings(database=database))
    for name in run(migrate_store(settings)):
        console.print(f"applied {name}")
    console.print("the database is up to date")


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Check every part, and say in a line each what is wrong and what to do."""
    from memstream.doctor import examine

    findings = run(examine())
    if as_json:
        console.print_json(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            colour = {"ok": "green", "warn": "yellow", "fail": "red"}[finding.state]
            line = Text(str(finding))
            line.stylize(colour, 0, len("fail"))
            console.print(line, soft_wrap=True)
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)
