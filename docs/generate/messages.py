"""Topics, and their messages field by field."""

import inspect
import json
from collections.abc import Iterable
from typing import Any, Final

from docs.generate.tables import code, table
from memstream.topology import LARGE, LARGE_BYTES
from models import Record
from models.identifiers import NO_CONTROL_CHARACTERS
from models.texts import NO_NUL
from topics import CONTRACT, Topic, TopicNames
from topics.schemas import message_schema

KEYS: Final = {
    "tenant/session": "`{tenant_id}/{session_id}`",
    "tenant": "`{tenant_id}`",
    "original": "that of the original",
}
CLEANUP: Final = {
    "delete": "the broker's retention",
    "compact": "compacted: the newest of each key",
}
LIMITS: Final = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "maxProperties": "at most {}",
}
PATTERNS: Final = {NO_CONTROL_CHARACTERS: "no control characters", NO_NUL: "no U+0000"}


def topic_lines() -> list[str]:
    """Return the topics."""
    names = TopicNames()
    rows = [
        (
            code(names.name(topic)),
            "memstream's own agents" if topic.value.internal else topic.value.writer,
            KEYS[topic.value.key],
            topic.value.carries.__name__ if topic.value.carries else "the bytes of the original",
            "for ever" if topic.value.kept else CLEANUP[topic.value.cleanup],
            "`PARTITIONS`" if topic.value.partitioned else "1",
            f"{LARGE_BYTES // 2**20} MiB" if topic in LARGE else "the broker's default",
        )
        for topic in Topic
    ]
    head = ("topic", "written by", "key", "value", "kept", "partitions", "largest message")
    return ["", "## Topics", *table(head, rows), "", _INTERNAL]


_INTERNAL: Final = (
    "Topics under `memory.internal.` are between memstream's own agents and may change at any "
    "time. The prefix is `MEMSTREAM_TOPIC_PREFIX`; the last two columns are what `memstream topics "
    "--create` and `up` create topics with, and topics that exist are left as they are."
)


def message_lines() -> list[str]:
    """Return each message field by field, and after them what they are made of."""
    lines, parts = ["", "## Messages"], dict[str, Any]()
    for topic in CONTRACT:
        if topic.value.carries is None:
            continue
        schema = message_schema(topic.value.carries, topic.value)
        parts |= schema.get("$defs", {})
        lines += ["", f"### {topic.value.suffix}", "", _about(topic.value.carries)]
        lines += _fields(schema, written=topic.value.writer == "memstream")
    lines += ["", "## Parts of messages"]
    for name in sorted(parts.keys() - {"JsonValue"}):
        about = str(parts[name].get("description", ""))
        lines += ["", f"### {name}", "", about, *_fields(parts[name], written=True)]
    return lines


def _about(model: type[Record]) -> str:
    return inspect.cleandoc(model.__doc__ or "").split("\n\n")[0]


def _fields(schema: dict[str, Any], *, written: bool) -> list[str]:
    required = set(schema.get("required", ()))
    rows = []
    for name, field in schema.get("properties", {}).items():
        if written or name not in required:
            given = "" if "default" not in field else code(json.dumps(field["default"]))
        else:
            given = "required"
        rows.append(
            (
                code(name),
                _type(field),
                given,
                ", ".join(_limits(field)),
                field.get("description", ""),
            )
        )
    return table(("field", "type", "default", "limits", "meaning"), rows)


def _type(field: dict[str, Any]) -> str:
    if field.get("$ref", "").endswith("/JsonValue"):
        return "any JSON"
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field or "const" in field:
        return " or ".join(code(one) for one in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        inner = _type(field.get("items", {}))
        return f"list of {inner}" if " or " not in inner else f"list of ({inner})"
    if field.get("type") == "object":
        inner = field.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    if field.get("format") == "date-time":
        return "moment (RFC 3339)"
    return str(field.get("type", "any JSON"))


def _limits(field: dict[str, Any]) -> Iterable[str]:
    for one in field.get("anyOf", ()):
        yield from _limits(one)
    for name, words in LIMITS.items():
        if name in field:
            yield words.format(f"{field[name]:,}")
    if "pattern" in field:
        yield PATTERNS.get(field["pattern"], code(field["pattern"]))
    if field.get("type") == "array" and "items" in field:
        inner = list(_limits(field["items"]))
        if inner:
            yield f"each {', '.join(inner)}"
