"""Commands that talk to a running memstream as any service would."""

import json
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from memstream.cli.shell import Token, app, names_of, run
from memstream.display import console, show_result, show_trajectory
from memstream.embedded.process import PartError
from memstream.runtime import with_running_parts
from memstream.settings import load_settings
from models import ContextUsage, Feedback, Item, Record, SearchRequest
from topics import decode

Tenant = Annotated[str, typer.Option("--tenant", "-t", help="The tenant whose memory it is.")]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="The search, by the request_id of its result.")
]
Session = Annotated[
    str | None, typer.Option(help="The session of the search; one of the command line's if none.")
]


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
    token: Token = None,
) -> None:
    """Publish a search request, wait for its result and print it."""
    request_id = str(uuid.uuid4())
    named = {"request_id": request_id, "tenant_id": tenant, "session_id": _session_of(request_id)}
    asked: Any = {"layers": layer or None, "scope": scope, "mode": mode, "limit": limit}
    _check(SearchRequest, named | asked | {"query": query, "operation": operation})
    settings = with_running_parts(load_settings(token=token))

    from memstream_client import RequestError, SearchResult  # aiokafka is slow to import

    from memstream.calling import calling

    async def ask() -> SearchResult:
        async with calling(settings, tenant, _session_of(request_id)) as client:
            ways = {"search": client.search, "recall": client.recall}
            try:
                return await ways[operation](query, request_id=request_id, timeout=timeout, **asked)
            except RequestError as error:
                if as_json and isinstance(error.answer, SearchResult):
                    return error.answer
                raise

    answer: SearchResult = run(ask())
    show_result(answer, as_json)
    if answer.error is not None:
        raise PartError(f"{answer.error.code}: {answer.error.message}")


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
    token: Token = None,
) -> None:
    """Publish one memory and print its id."""
    memory_id = str(uuid.uuid4()) if memory_id is None else memory_id
    said: Any = {"memory_id": memory_id, "layer": layer, "scope": scope, "importance": importance}
    _check(Item, said | {"event_id": "e", "tenant_id": tenant, "content": text})
    settings = with_running_parts(load_settings(token=token))

    from memstream.calling import calling

    async def publish() -> str:
        async with calling(settings, tenant) as client:
            return await client.remember(text, **said)

    console.print(run(publish()), highlight=False)


@app.command()
def use(
    request_id: RequestId,
    memory_ids: Annotated[
        list[str], typer.Argument(metavar="MEMORY_ID", help="The memories used.")
    ],
    tenant: Tenant,
    quality: Annotated[float, typer.Option(help="How much they helped, 0 to 1.")] = 1.0,
    session: Session = None,
    token: Token = None,
) -> None:
    """Publish that memories of a result were used."""
    session = _session_of(request_id) if session is None else session
    named = {"event_id": "e", "tenant_id": tenant, "session_id": session}
    told = {"request_id": request_id, "quality_score": quality}
    _check(ContextUsage, named | told | {"memory_ids": memory_ids})
    settings = with_running_parts(load_settings(token=token))

    from memstream.calling import calling

    async def tell() -> None:
        async with calling(settings, tenant, session) as client:
            await client.use(request_id, memory_ids, quality)

    run(tell())
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
    token: Token = None,
) -> None:
    """Publish how good a result was."""
    session = _session_of(request_id) if session is None else session
    named = {"event_id": "e", "tenant_id": tenant, "session_id": session}
    told = {"request_id": request_id, "quality_score": quality}
    _check(Feedback, named | told | {"memory_id": memory_id})
    settings = with_running_parts(load_settings(token=token))

    from memstream.calling import calling

    async def tell() -> None:
        async with calling(settings, tenant, session) as client:
            await client.feedback(request_id, quality, memory_id)

    run(tell())
    console.print("feedback published")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl file, one memory a line.")],
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="For lines that name no tenant.")
    ] = None,
    token: Token = None,
) -> None:
    """Publish the memories of a file."""
    from memstream_client import Item

    from memstream.calling import calling
    from memstream.cli.progress import progress_bar
    from memstream.import_file import read_items

    # Read as the service would, to complain as the service would.
    read = read_items(file, tenant, lambda: str(uuid.uuid4()))
    items = [Item.model_validate(item.model_dump()) for item in read]
    settings = with_running_parts(load_settings(token=token))
    with progress_bar() as advance:

        async def publish() -> None:
            # Each item names its tenant; the client's own is only where none is.
            async with calling(settings, tenant or "") as client:
                async for taken in client.remember_all(items):
                    advance("publishing", taken, len(items))

        run(publish())
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
    from memstream.broker import broker_of
    from memstream.labelled import labelled

    settings = with_running_parts(load_settings())

    async def show() -> None:
        broker = broker_of(settings)
        async for trajectory in labelled(broker, names_of(settings), tenant, follow=follow):
            show_trajectory(trajectory, as_json)

    run(show())


def _session_of(request_id: str) -> str:
    """Return the session of a search made here, so that what is told of it finds its way to it."""
    return f"cli-{request_id}"


def _check(model: type[Record], fields: dict[str, Any]) -> None:
    """Complain of what was typed as the service would, whether or not there is one."""
    decode(model, json.dumps(fields).encode())
