"""Writes the JSON Schemas and the AsyncAPI document: `python -m topics.generate`."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from topics.asyncapi import asyncapi
from topics.schemas import message_schemas

FOLDER: Final = Path(__file__).parent

_NOTE: Final = "# Generated from the models by `python -m topics.generate`; edit those instead.\n"


class _PlainDumper(yaml.SafeDumper):
    """YAML without anchors: a reader should not have to jump around."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value used twice out twice."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Paragraphs as a block: quoted, every line of theirs would be followed by an empty one.
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _represent_text)


def generated() -> dict[str, str]:
    """Text of every generated file, by its path in this folder."""
    document = yaml.dump(
        asyncapi(), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=100
    )
    schemas = {
        f"schemas/{name}": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in message_schemas().items()
    }
    return {"asyncapi.yaml": _NOTE + document, **schemas}


def on_disk(folder: Path = FOLDER) -> dict[str, str]:
    """Text of every generated file there is, stale ones included."""
    paths = [*folder.glob("asyncapi.yaml"), *folder.glob("schemas/*.json")]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


def write(folder: Path = FOLDER) -> None:
    """Make the files on disk what they should be."""
    files = generated()
    for stale in on_disk(folder).keys() - files.keys():
        (folder / stale).unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
