"""Commands that talk to a running memstream as any service would."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from memstream.cli.shell import app, names_of, run
from memstream.clock import now
from memstream.display import console, errors, show_result, show_trajectory
from memstream.import_file import read_items
from memstream.parts import broker_address
from memstream.runtime import with_running_parts
from memstream.settings import load_settings
from models import ContextUsage, Feedback, Item, Record, SearchRequest, SearchResult, Signal
from topics import decode

Tenant = Annotated[str, typer.Option("--tenant", "-t", help="The tenant whose memory it is.")]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="The search, by the request_id of its result.")
]
Session = Annotated[
    str | None, typer.Option(help="The session of the search; one of the command line's if none.")
]

R = TypeVar("R", bound=Record)


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
        async with Messenger.connect(broker_address(settings), names_of(settings)) as messenger:
            return await messenger.ask(request, timeout)

    show_result(run(ask()), as_json)


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
    run(_publish([item], lambda _: None))
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
    run(_signal(_checked(ContextUsage, told | {"memory_ids": memory_ids})))
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
    run(_signal(_checked(Feedback, told | {"memory_id": memory_id})))
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
        run(_publish(items, lambda taken: progress.update(task, completed=taken)))
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
        async for trajectory in labelled(broker, names_of(settings), tenant, follow=follow):
            show_trajectory(trajectory, as_json)

    run(show())


async def _publish(items: list[Item], on_taken: Callable[[int], None]) -> None:
    from memstream.messenger import Messenger

    settings = with_running_parts(load_settings())
    async with Messenger.connect(broker_address(settings), names_of(settings)) as messenger:
        async for taken in messenger.remember(items):
            on_taken(taken)


async def _signal(signal: Signal) -> None:
    from memstream.messenger import Messenger

    settings = with_running_parts(load_settings())
    async with Messenger.connect(broker_address(settings), names_of(settings)) as messenger:
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
