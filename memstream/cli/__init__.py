"""The command line: commands import what they need when they run, so that each starts quickly."""

import sys
from typing import Any

import typer
from rich.markup import escape

from memstream.cli import (
    agents,
    dead_letters,
    exporting,
    measuring,
    messages,
    operations,
    policies,
    replaying,
    simulating,
    tenants,
)
from memstream.cli.shell import app
from memstream.display import errors

__all__ = [
    "agents",
    "dead_letters",
    "exporting",
    "main",
    "measuring",
    "messages",
    "operations",
    "policies",
    "replaying",
    "simulating",
    "tenants",
]


def main() -> None:
    """Run the command line; what a user got wrong ends in one line and status 1."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except typer.TyperException as error:
        _refuse_usage(error)
    except typer.Abort:
        _refuse("not confirmed: nothing was done")
    except Exception as error:
        if not isinstance(error, _expected()):
            raise
        _refuse(str(error))


def _refuse_usage(error: Any) -> None:
    """Say what was typed wrongly, and where it is said how it is typed."""
    said = error.format_message()
    if not said:
        # A group without a command: its help has been printed, which is what was asked for.
        sys.exit(0)
    context = getattr(error, "ctx", None)
    help_ = f" (see {context.command_path} --help)" if context else ""
    _refuse(said[0].lower() + said[1:].rstrip(".") + help_)


def _refuse(why: str) -> None:
    line = " ".join(part.strip() for part in why.splitlines())
    errors.print(f"[red]error:[/] {escape(line)}", soft_wrap=True, highlight=False)
    sys.exit(1)


def _expected() -> tuple[type[Exception], ...]:
    """Return what a user or the surroundings can get wrong: one clear line, no traceback."""
    from memstream.embedded.process import PartError
    from memstream.evaluation.dataset import DatasetError
    from memstream.export import ExportError
    from memstream.import_file import ImportFileError
    from memstream.settings import SettingsError
    from memstream.tenant_values import TenantValueError
    from memstream.what_if import WhatIfError
    from retrieval.embedding import EmbedderError
    from storage import StoreError
    from storage.policies import OrderError
    from topics import DecodeError

    return (
        *(SettingsError, PartError, StoreError, EmbedderError),
        *(ImportFileError, DecodeError, DatasetError, TenantValueError),
        *(OrderError, WhatIfError, ExportError),
    )
