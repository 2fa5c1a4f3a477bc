"""What memories are about: whether a filter names it, and which entities occur together."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from storage.protocol import MAX_RELATED, Filter, Related
from storage.sqlite.rows import Row, fits


def named(entities: Mapping[str, str], asked: Mapping[str, Collection[str]]) -> bool:
    """Tell whether the entity under each key asked for is one of those named."""
    return all(entities.get(key) in names for key, names in asked.items())


def having(rows: Iterable[tuple[int, str]], asked: Mapping[str, Sequence[str]]) -> set[int]:
    """Return the ids of the rows whose entities are those named."""
    # Many memories are about the same: each text is read once, and names are looked up.
    names = {key: frozenset(those) for key, those in asked.items()}
    fitting = cache(lambda text: named(json.loads(text), names))
    return {row_id for row_id, text in rows if fitting(text)}


def related(
    rows: Iterable[Sequence[Any]], parent: str, child: str, among: Filter, ids: set[int] | None
) -> list[Related]:
    """Return the pairs of entities under two keys in the rows that the filter lets through."""
    texts = Counter(
        text
        for text, row_id, *columns in rows
        if (ids is None or row_id in ids)
        and fits(Row._make((row_id, "", *columns, None, 0, 0, "")), among)
    )
    pairs: Counter[tuple[str, str]] = Counter()
    for text, memories in texts.items():
        entities = json.loads(text)
        if parent in entities and child in entities:
            pairs[entities[parent], entities[child]] += memories
    most_first = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Related(*names, memories) for names, memories in most_first[:MAX_RELATED]]
