"""Commands for what could not be handled."""

import json
from collections import deque
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from memstream.cli.shell import Token, app, names_of, run
from memstream.clock import now
from memstream.display import age, console, errors
from memstream.embedded.process import PartError
from memstream.runtime import with_running_parts
from memstream.settings import load_settings
from topics.dead_letters import DeadLetter

dead_letters = typer.Typer(
    help="See what could not be handled, and send it again.", no_args_is_help=True
)
app.add_typer(dead_letters, name="dead-letters")

OfTenant = Annotated[str | None, typer.Option("--tenant", "-t", help="Only this tenant's.")]
Code = Annotated[
    list[str] | None, typer.Option(help="Only of this reason, such as forbidden; repeatable.")
]
OfTopic = Annotated[
    list[str] | None, typer.Option(help="Only from this topic, such as items; repeatable.")
]


@dead_letters.command("list")
def list_(
    tenant: OfTenant = None,
    code: Code = None,
    topic: OfTopic = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="A letter a line, as JSON.")] = False,
) -> None:
    """List messages that could not be handled, and why; the newest last."""
    from memstream.broker import broker_of
    from memstream.kept import Choice, kept

    settings = with_running_parts(load_settings())
    choice = Choice(tenant, code or (), topic or ())

    async def newest() -> tuple[int, deque[dict[str, Any]]]:
        found: deque[dict[str, Any]] = deque(maxlen=limit)
        count = 0
        async for letter in kept(broker_of(settings), names_of(settings), choice):
            count += 1
            found.append(_facts(letter))
        return count, found

    count, found = run(newest())
    if as_json:
        for facts in found:
            console.print(json.dumps(facts), soft_wrap=True, markup=False, highlight=False)
        return
    # Two lines a letter, so that a narrow terminal has room for what went wrong.
    table = Table(
        *("offset", Column("age", no_wrap=True)),
        Column("topic, tenant", overflow="fold", min_width=22),
        *(Column("code, reason", overflow="fold", min_width=22), "replays"),
        show_lines=True,
    )
    for facts in found:
        table.add_row(
            *(str(facts["offset"]), facts["age"]),
            escape(f"{facts['topic']}\n{facts['tenant_id']}"),
            escape(f"{facts['code']}\n{facts['message']}"),
            str(facts["replays"] or ""),
        )
    console.print(table)
    if count > len(found):
        console.print(f"the newest {len(found)} of {count}; see more with --limit")


@dead_letters.command("replay")
def replay_(
    tenant: OfTenant = None,
    code: Code = None,
    topic: OfTopic = None,
    offset: Annotated[
        list[int] | None, typer.Option(help="Only this one, as listed; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many, the oldest first.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be sent.")
    ] = False,
    token: Token = None,
) -> None:
    """Send messages to the topics that they came from, as they were.

    What took effect before does not take effect twice: events and requests are known by their ids.
    """
    from memstream.broker import broker_of
    from memstream.kept import Choice, replay

    settings = with_running_parts(load_settings(token=token))
    if settings.auth == "jwt" and settings.token is None and not dry_run:
        raise PartError(
            "dead letters are kept without tokens, and AUTH=jwt needs one: set MEMSTREAM_TOKEN "
            "to one of the tenant whose letters are sent again"
        )

    def tell(letter: DeadLetter, refused: str | None) -> None:
        named = f"{letter.offset} ({letter.code}) of {letter.topic or 'nowhere'}"
        if refused is not None:
            errors.print(f"passed over {escape(named)}: {escape(refused)}", soft_wrap=True)
        elif dry_run:
            console.print(f"would send {escape(named)}", soft_wrap=True, highlight=False)

    sent = run(
        replay(
            *(broker_of(settings), names_of(settings)),
            *(Choice(tenant, code or (), topic or (), offset or ()), tell),
            most=limit,
            token=settings.token.get_secret_value() if settings.token else None,
            dry_run=dry_run,
        )
    )
    console.print(f"{sent} {'would be sent' if dry_run else 'sent again'}")


def _facts(letter: DeadLetter) -> dict[str, Any]:
    return {**letter.facts(), "age": age(now() - letter.at) if letter.at else ""}
