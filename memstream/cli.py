"""The command line."""

import asyncio
import json
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from memstream.__main__ import INTERRUPTED
from memstream.clock import now
from memstream.display import (
    console,
    errors,
    show_quality,
    show_result,
    show_runtime,
    show_tenant,
    show_trajectory,
)
from memstream.embedded.process import PartError
from memstream.evaluation.dataset import DatasetError, read_dataset, read_route
from memstream.import_file import ImportFileError, read_items
from memstream.logs import set_up_logs
from memstream.parts import broker_address, open_store
from memstream.runtime import with_running_parts
from memstream.settings import Settings, SettingsError, load_settings
from memstream.tenant_values import TenantValueError, check_tenant, read_changes
from models import (
    ContextUsage,
    Feedback,
    Item,
    Record,
    SearchRequest,
    SearchResult,
    Signal,
    TenantOverrides,
)
from retrieval.embedding import EmbedderError
from storage import StoreError
from topics import DecodeError, TopicNames, decode

app = typer.Typer(
    name="memstream",
    help="Memories for AI agents, written and searched through Kafka.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
tenant = typer.Typer(help="See and set what a tenant has its own way.", no_args_is_help=True)
app.add_typer(tenant, name="tenant")
Tenant = Annotated[str, typer.Option("--tenant", "-t", help="The tenant whose memory it is.")]
Broker = Annotated[
    str | None, typer.Option(help="embedded, local-kafka or kafka://host:port[,host:port…]")
]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="The search, by the request_id of its result.")
]
Session = Annotated[
    str | None, typer.Option(help="The session of the search; one of the command line's if none.")
]
NamedTenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]
Database = Annotated[str | None, typer.Option(help="embedded, embedded-postgres or postgresql://…")]

R = TypeVar("R", bound=Record)

EXPECTED = (
    SettingsError,
    PartError,
    StoreError,
    EmbedderError,
    ImportFileError,
    DecodeError,
    DatasetError,
    TenantValueError,
)
"""What a user or the surroundings can get wrong: one clear line, no traceback."""


def main() -> None:
    """Run the command line; what a user got wrong ends in one line and status 1."""
    try:
        app()
    except EXPECTED as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(1)


@app.command()
def up(broker: Broker = None, database: Database = None) -> None:
    """Run the whole service: broker, store, embedder, agents, console. Ctrl-C stops it."""
    from memstream.up import run_up

    settings = load_settings(broker=broker, database=database)
    set_up_logs(settings.log_format)

    def progress(step: str) -> None:
        errors.print(f"[dim]… {escape(step)}[/]")

    _until_signalled(
        lambda stopped: run_up(settings, stopped, progress, lambda runtime: show_runtime(runtime))
    )


@app.command()
def worker(broker: Broker = None, database: Database = None) -> None:
    """Run the agents only, against configured parts."""
    from memstream.worker import run_worker

    settings = with_running_parts(load_settings(broker=broker, database=database))
    set_up_logs(settings.log_format)
    _until_signalled(lambda stopped: run_worker(settings, stopped))


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    tenant: Tenant,
    operation: Annotated[str, typer.Option(help="search or recall")] = "search",
    layer: Annotated[list[str] | None, typer.Option(help="Only this layer; repeatable.")] = None,
    scope: Annotated[str | None, typer.Option(help="Only this scope and what is global.")] = None,
    mode: Annotated[str, typer.Option(help="hybrid, semantic or keyword")] = "hybrid",
    limit: Annotated[int, typer.Option(help="At most so many results, 1 to 100.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="The result message itself.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the result.")] = 30.0,
) -> None:
    """Publish a search request, wait for its result and print it."""
    from memstream.messenger import Messenger

    request_id = str(uuid.uuid4())
    asked = {
        "request_id": request_id,
        "tenant_id": tenant,
        "session_id": _session_of(request_id),
        "query": query,
        "operation": operation,
        "layers": layer or None,
        "scope": scope,
        "mode": mode,
        "limit": limit,
    }
    request = _checked(SearchRequest, asked)
    settings = with_running_parts(load_settings())

    async def ask() -> SearchResult:
        async with Messenger.connect(broker_address(settings), _names(settings)) as messenger:
            return await messenger.ask(request, timeout)

    show_result(_run(ask()), as_json)


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    tenant: Tenant,
    layer: Annotated[str, typer.Option(help="How widely it applies.")] = "user",
    scope: Annotated[str, typer.Option(help="Where it applies.")] = "global",
    importance: Annotated[float, typer.Option(help="How much it matters, 0 to 10.")] = 5.0,
    memory_id: Annotated[
        str | None, typer.Option("--id", help="Its id; a new one if none.")
    ] = None,
) -> None:
    """Publish one memory and print its id."""
    said = {
        "event_id": str(uuid.uuid4()),
        "tenant_id": tenant,
        "memory_id": memory_id or str(uuid.uuid4()),
        "content": text,
        "layer": layer,
        "scope": scope,
        "importance": importance,
        "created_at": now().isoformat(),
    }
    item = _checked(Item, said)
    _run(_publish([item], lambda _: None))
    console.print(item.memory_id, highlight=False)


@app.command()
def use(
    request_id: RequestId,
    memory_ids: Annotated[
        list[str], typer.Argument(metavar="MEMORY_ID", help="The memories used.")
    ],
    tenant: Tenant,
    quality: Annotated[float, typer.Option(help="How much they helped, 0 to 1.")] = 1.0,
    session: Session = None,
) -> None:
    """Publish that memories of a result were used."""
    told = _told(request_id, tenant, session, quality)
    _run(_signal(_checked(ContextUsage, told | {"memory_ids": memory_ids})))
    console.print("usage published")


@app.command()
def feedback(
    request_id: RequestId,
    tenant: Tenant,
    quality: Annotated[float, typer.Option(help="How good the result was, 0 to 1.")],
    memory_id: Annotated[
        str | None, typer.Option("--memory", help="The one memory judged; all if none.")
    ] = None,
    session: Session = None,
) -> None:
    """Publish how good a result was."""
    told = _told(request_id, tenant, session, quality)
    _run(_signal(_checked(Feedback, told | {"memory_id": memory_id})))
    console.print("feedback published")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl file, one memory a line.")],
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="For lines that name no tenant.")
    ] = None,
) -> None:
    """Publish the memories of a file."""
    items = read_items(file, tenant, lambda: str(uuid.uuid4()))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=errors) as progress:
        task = progress.add_task("publishing", total=len(items))
        _run(_publish(items, lambda taken: progress.update(task, completed=taken)))
    console.print(f"{len(items)} memories published")


@app.command()
def trajectories(
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="Only this tenant's.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A message a line.")] = False,
) -> None:
    """Show what came of searches: the stream of labelled trajectories."""
    from memstream.labelled import labelled

    settings = with_running_parts(load_settings())

    async def show() -> None:
        broker = broker_address(settings)
        async for trajectory in labelled(broker, _names(settings), tenant, follow=follow):
            show_trajectory(trajectory, as_json)

    _run(show())


@app.command()
def topics(
    create: Annotated[bool, typer.Option(help="Create the topics that are missing.")] = False,
) -> None:
    """List the topics and their partitions on the broker."""
    from memstream.topology import ensure_topics, topic_states

    settings = with_running_parts(load_settings())
    broker, names = broker_address(settings), _names(settings)
    if create:
        _run(ensure_topics(broker, names, settings.partitions))
    table = Table("topic", "partitions")
    for state in _run(topic_states(broker, names)):
        table.add_row(state.name, str(state.partitions) if state.partitions else "[red]missing[/]")
    console.print(table)


@app.command()
def migrate(database: Database = None) -> None:
    """Bring the database up to the schema of this version."""
    from memstream.parts import migrate_store

    settings = with_running_parts(load_settings(database=database))
    for name in _run(migrate_store(settings)):
        console.print(f"applied {name}")
    console.print("the database is up to date")


@app.command()
def doctor() -> None:
    """Check every part, and say how to fix what is wrong."""
    from memstream.doctor import examine

    table = Table("", "part", "finding", "what to do")
    findings = _run(examine())
    for finding in findings:
        mark = {"ok": "[green]✓[/]", "note": "[yellow]·[/]", "bad": "[red]✗[/]"}[finding.state]
        table.add_row(mark, finding.part, escape(finding.what), escape(finding.remedy))
    console.print(table)
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(1)


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
    from memstream.evaluation.run import evaluate  # onnxruntime and asyncpg are slow to import
    from retrieval.ranking import GROUPS

    for group in without or ():
        if group not in GROUPS:
            raise DatasetError(f"there is no group of features {group!r}: use {', '.join(GROUPS)}")
    chosen_route = read_route(route)
    settings = load_settings(database=database)
    set_up_logs(settings.log_format)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=errors, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=total)

        measured = _run(
            evaluate(
                *(read_dataset(dataset), settings, k, advance),
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


@tenant.command("show")
def tenant_show(
    tenant_id: NamedTenant,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what a tenant is served by, and whether that is its own or the service's default."""
    _show_after(check_tenant(tenant_id), {}, as_json)


@tenant.command("set")
def tenant_set(
    tenant_id: NamedTenant,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE…", help="What to set; KEY=default goes back to it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Set what a tenant has its own way, while the service runs."""
    _show_after(check_tenant(tenant_id), read_changes(assignments or ()), as_json)


def _show_after(tenant_id: str, changes: dict[str, JsonValue], as_json: bool) -> None:
    settings = with_running_parts(load_settings())

    async def change() -> TenantOverrides:
        store = await open_store(settings)
        try:
            if changes:
                return await store.override(tenant_id, changes)
            return await store.overrides(tenant_id)
        finally:
            await store.close()

    show_tenant(tenant_id, _run(change()), settings.service(), as_json)


async def _publish(items: list[Item], on_taken: Callable[[int], None]) -> None:
    from memstream.messenger import Messenger

    settings = with_running_parts(load_settings())
    async with Messenger.connect(broker_address(settings), _names(settings)) as messenger:
        async for taken in messenger.remember(items):
            on_taken(taken)


async def _signal(signal: Signal) -> None:
    from memstream.messenger import Messenger

    settings = with_running_parts(load_settings())
    async with Messenger.connect(broker_address(settings), _names(settings)) as messenger:
        await messenger.signal(signal)


def _told(request_id: str, tenant: str, session: str | None, quality: float) -> dict[str, Any]:
    return {
        "event_id": str(uuid.uuid4()),
        "tenant_id": tenant,
        "session_id": _session_of(request_id) if session is None else session,
        "request_id": request_id,
        "quality_score": quality,
        "occurred_at": now().isoformat(),
    }


def _session_of(request_id: str) -> str:
    """Return the session of a search made here, so that what is told of it finds its way to it."""
    return f"cli-{request_id}"


def _checked(model: type[R], fields: dict[str, Any]) -> R:
    """Build a record from what was typed, complaining as the service would."""
    return decode(model, json.dumps(fields).encode())


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _until_signalled(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await work(stopped)

    asyncio.run(run())


def _names(settings: Settings) -> TopicNames:
    return TopicNames(settings.topic_prefix)
