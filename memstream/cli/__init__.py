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

EXPECTED = (
    ("memstream.embedded.process", "PartError"),
    ("memstream.evaluation.dataset", "DatasetError"),
    ("memstream.export.files", "ExportError"),
    ("memstream.import_file", "ImportFileError"),
    ("memstream.settings", "SettingsError"),
    ("memstream.tenant_values", "TenantValueError"),
    ("memstream.what_if", "WhatIfError"),
    ("retrieval.embedding.protocol", "EmbedderError"),
    ("storage.policies", "OrderError"),
    ("storage.protocol", "StoreError"),
    ("topics.faults", "DecodeError"),
)
"""The errors that end in one line, by the modules that define them."""


def main() -> None:
    """Run the command line; what a user got wrong ends in one line and status 1."""
    try:
        sys.exit(app(prog_name="memstream", standalone_mode=False) or 0)
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
    """Return what a user or the surroundings can get wrong: one clear line, no traceback.

    Only what is loaded can have been raised, and to load the rest takes longer than most commands.
    """
    return tuple(
        getattr(sys.modules[module], name) for module, name in EXPECTED if module in sys.modules
    )
