"""A dataset folder: memories.jsonl, and queries.jsonl with the memories that answer each query."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memstream.json_lines import json_lines
from models import Item
from models.identifiers import Identifier
from models.memories import Layer
from models.quantities import Moment
from models.texts import Content, Query

EvaluatedRoute = Literal["auto", "standard", "rlm"]
"""The route each query is worth, or one for all."""

L = TypeVar("L", bound=BaseModel)


class DatasetError(Exception):
    """The dataset cannot be used; the message names the file and the line."""


class DatasetMemory(BaseModel):
    """One line of memories.jsonl."""

    model_config = ConfigDict(frozen=True)

    id: Identifier
    tenant: Identifier
    layer: Layer
    content: Content
    session: Identifier | None = None
    created_at: Moment | None = None


class DatasetQuery(BaseModel):
    """One line of queries.jsonl; gold is for whoever judges, never for retrieval."""

    model_config = ConfigDict(frozen=True)

    id: Identifier
    tenant: Identifier
    query: Query
    category: str
    gold: Annotated[frozenset[Identifier], Field(min_length=1)]
    asked_at: Moment | None = None


@dataclass(frozen=True)
class Dataset:
    """Memories in the order of their sessions, and the questions asked of them."""

    name: str
    memories: tuple[DatasetMemory, ...]
    queries: tuple[DatasetQuery, ...]

    def with_several_gold(self) -> "Dataset":
        """Return only the questions that one memory does not answer."""
        several = tuple(query for query in self.queries if len(query.gold) > 1)
        if not several:
            raise DatasetError("no question has several pieces of evidence")
        return replace(self, queries=several)

    def items(self) -> list[Item]:
        """Return the memories as events, each with its place in its session."""
        places: Counter[tuple[str, str | None]] = Counter()
        items = []
        for number, memory in enumerate(self.memories):
            session = (memory.tenant, memory.session)
            items.append(
                Item(
                    event_id=str(number),
                    tenant_id=memory.tenant,
                    memory_id=memory.id,
                    content=memory.content,
                    layer=memory.layer,
                    session_id=memory.session,
                    position=places[session] if memory.session is not None else None,
                    created_at=memory.created_at,
                )
            )
            places[session] += 1
        return items


def read_route(text: str) -> EvaluatedRoute:
    """Read a route, or say which there are."""
    for route in get_args(EvaluatedRoute):
        if text == route:
            return cast(EvaluatedRoute, route)
    raise DatasetError(f"there is no route {text!r}: use {', '.join(get_args(EvaluatedRoute))}")


def read_dataset(folder: Path) -> Dataset:
    """Read a dataset, or say what is wrong with it."""
    queries_file = folder / "queries.jsonl"
    memories = [memory for _, memory in _lines(folder / "memories.jsonl", DatasetMemory)]
    queries = _lines(queries_file, DatasetQuery)
    known = {(memory.tenant, memory.id) for memory in memories}
    for number, query in queries:
        unknown = sorted(gold for gold in query.gold if (query.tenant, gold) not in known)
        if unknown:
            raise DatasetError(
                f"{queries_file}, line {number}: gold: no memory of its tenant has the id {unknown}"
            )
    if not queries:
        raise DatasetError(f"{queries_file} has no queries")
    return Dataset(folder.resolve().name, tuple(memories), tuple(query for _, query in queries))


def _lines(file: Path, model: type[L]) -> list[tuple[int, L]]:
    try:
        lines = json_lines(file)
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file} cannot be read: {error}") from error
    return [(number, _line(file, number, line, model)) for number, line in lines]


def _line(file: Path, number: int, line: str, model: type[L]) -> L:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise DatasetError(f"{file}, line {number}: {where}: {first['msg']}") from None
