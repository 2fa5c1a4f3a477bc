"""JSON Schemas (2020-12) of the messages, made from the models."""

from typing import Any, Final

from models import Record
from topics.names import CONTRACT, TopicSpec

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

JsonSchema = dict[str, Any]


def schema_file(topic: TopicSpec) -> str:
    """Name of the file that holds the schema of a topic's messages."""
    return f"{topic.suffix}.json"


def message_schema(carries: type[Record], topic: TopicSpec) -> JsonSchema:
    """Describe a topic's messages as their writers need it.

    Others may leave out what has a default; memstream itself always writes every field.
    """
    mode: Final = "serialization" if topic.writer == "memstream" else "validation"
    return {"$schema": DIALECT, **carries.model_json_schema(mode=mode)}


def message_schemas() -> dict[str, JsonSchema]:
    """Every schema by the name of its file; dead letters may be anything and have none."""
    return {
        schema_file(topic.value): message_schema(topic.value.carries, topic.value)
        for topic in CONTRACT
        if topic.value.carries is not None
    }
