"""What every command needs: the application, its options, and how work is run."""

import asyncio
import logging
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

from memstream.__main__ import INTERRUPTED
from memstream.settings import Settings, SettingsError
from models.quantities import Moment
from topics import TopicNames

app = typer.Typer(
    name="memstream",
    help="Memories for AI agents, written and searched through Kafka.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Broker = Annotated[
    str | None, typer.Option(help="embedded, local-kafka or kafka://host:port[,host:port…]")
]
Token = Annotated[
    str | None,
    typer.Option(help="The JWT to send; better MEMSTREAM_TOKEN, which others cannot see."),
]
Database = Annotated[str | None, typer.Option(help="embedded, embedded-postgres or postgresql://…")]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Do it, and end as shells expect if Ctrl-C does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What keeps it from its broker is told once, by the error it ends with.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def until_signalled(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Do it until it is told to stop."""

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await work(stopped)

    asyncio.run(run())


def names_of(settings: Settings) -> TopicNames:
    """Return what the topics are called."""
    return TopicNames(settings.topic_prefix)


def moment(option: str, text: str | None) -> datetime | None:
    """Read the moment that an option names, if it is given; a date is when it begins, in UTC."""
    if text is None:
        return None
    try:
        whole = f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text
        read: datetime = TypeAdapter(Moment).validate_python(whole)
    except ValidationError as error:
        raise SettingsError(f"{option} is {text!r}; {error.errors()[0]['msg']}") from None
    return read
