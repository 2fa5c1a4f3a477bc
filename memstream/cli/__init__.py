"""The command line."""

import sys

from rich.markup import escape

from memstream.cli import measuring, messages, operations, tenants
from memstream.cli.shell import app
from memstream.display import errors
from memstream.embedded.process import PartError
from memstream.evaluation.dataset import DatasetError
from memstream.import_file import ImportFileError
from memstream.settings import SettingsError
from memstream.tenant_values import TenantValueError
from retrieval.embedding import EmbedderError
from storage import StoreError
from topics import DecodeError

__all__ = ["main", "measuring", "messages", "operations", "tenants"]

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
