"""Reads memories from a file: a JSON object a line, as ``items`` carries them or as datasets do."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memstream.json_lines import json_lines
from models import Item
from topics import DecodeError, decode

# Datasets say id, tenant and session; the contract says memory_id, tenant_id and session_id.
_DATASET_NAMES = {"id": "memory_id", "tenant": "tenant_id", "session": "session_id"}


class ImportFileError(Exception):
    """The file cannot be imported; the message names the line and what is wrong with it."""


def read_items(file: Path, tenant: str | None, new_id: Callable[[], str]) -> list[Item]:
    """Return the items of the file; nothing is published unless every line can be read."""
    try:
        lines = json_lines(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFileError(f"{file} cannot be read: {error}") from error
    places: Counter[tuple[Any, Any]] = Counter()
    return [_item(file, number, line, tenant, new_id, places) for number, line in lines]


def _item(
    file: Path,
    number: int,
    line: str,
    tenant: str | None,
    new_id: Callable[[], str],
    places: "Counter[tuple[Any, Any]]",
) -> Item:
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict):
            raise ImportFileError(f"{file}, line {number}: not a JSON object")
        fields = {_DATASET_NAMES.get(name, name): value for name, value in fields.items()}
        given = {"event_id": new_id(), "memory_id": new_id(), "tenant_id": tenant} | fields
        if given.get("session_id") is not None and given.get("position") is None:
            # Lines of one session are in order.
            session = (str(given["tenant_id"]), str(given["session_id"]))
            given["position"] = places[session]
            places[session] += 1
        return decode(Item, json.dumps(given).encode())
    except (ValueError, DecodeError, RecursionError) as error:
        raise ImportFileError(f"{file}, line {number}: {error}") from error
