"""Trajectories as typed, nested columns, and back.

Columns are called what the fields of the message are called. What a policy chose is lifted out of
an action's params, where analysts can reach it; the rest of the params stays JSON.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue, ValidationError

from models import Action, Trajectory
from models.choices import Choice
from models.texts import compact_json

SCHEMA_VERSION: Final = "1"
"""Raised when a column changes its name, type or meaning; a new column does not raise it."""

VERSION_KEY: Final = b"memstream.schema_version"
"""Where a Parquet file tells its version."""

_CHOSEN: Final = tuple(Choice.model_fields)


@cache
def schema() -> Any:
    """Return the columns, as pyarrow has them."""
    import pyarrow as pa  # an extra: only this format needs it

    text, number, count = pa.string(), pa.float64(), pa.int64()
    moment = pa.timestamp("us", tz="UTC")
    numbers = pa.map_(text, number)
    action = {
        "kind": text,
        "params": text,
        "depth": count,
        "started_at": moment,
        "duration_ms": number,
        "tokens": count,
        "result_count": count,
        "propensity": number,
        "point": text,
        "option": text,
        "options": numbers,
        "features": numbers,
        "exploration": number,
    }
    shown = {"memory_id": text, "rank": count, "propensity": number, "features": numbers}
    signs = dict.fromkeys(("multi_layer", "aggregation", "comparison", "structure"), number)
    columns = {
        **dict.fromkeys(("trajectory_id", "request_id", "tenant_id", "session_id"), text),
        "revision": count,
        "query": text,
        "complexity_score": number,
        "signals": pa.struct(signs.items()),
        "route": text,
        "actions": pa.list_(pa.struct(action.items())),
        "shown": pa.list_(pa.struct(shown.items())),
        "used": pa.list_(text),
        "outcome": pa.struct({"type": text, "quality_score": number, "new_query": text}.items()),
        "reward": number,
        "trainable": pa.bool_(),
        **dict.fromkeys(("tokens_used", "max_depth", "result_count"), count),
        "fallback": text,
        "policy_version": count,
        **dict.fromkeys(("started_at", "completed_at", "labelled_at"), moment),
    }
    return pa.schema(columns.items(), {VERSION_KEY: SCHEMA_VERSION})


def row(trajectory: Trajectory) -> dict[str, Any]:
    """Return a trajectory as one row."""
    told = trajectory.model_dump()
    told["actions"] = [_action(one) for one in trajectory.actions]
    for one in told["shown"]:
        one["features"] = list(one["features"].items())
    return told


def trajectory_of(told: dict[str, Any]) -> Trajectory:
    """Return the trajectory of a row."""
    shown = [{**one, "features": dict(one["features"])} for one in told["shown"]]
    actions = [_action_of(one) for one in told["actions"]]
    return Trajectory.model_validate({**told, "shown": shown, "actions": actions})


def read_parquet(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, a part of it in memory at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=500):
            for told in batch.to_pylist():
                yield trajectory_of(told)


def _action(action: Action) -> dict[str, Any]:
    params = dict(action.params)
    chosen = _choice(params.get("choice"))
    if chosen is not None:
        del params["choice"]
        for name in ("options", "features"):
            chosen[name] = list(chosen[name].items())
    plain = {**dict(action), "params": compact_json(params).decode()}
    return {**plain, **(chosen or dict.fromkeys(_CHOSEN))}


def _choice(told: JsonValue) -> dict[str, Any] | None:
    """Return a choice if the columns can hold all of it."""
    try:
        chosen = Choice.model_validate(told).model_dump()
    except ValidationError:
        return None
    return chosen if chosen == told else None


def _action_of(told: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = json.loads(told["params"])
    if told["point"] is not None:
        params["choice"] = {
            "point": told["point"],
            "option": told["option"],
            "options": dict(told["options"]),
            "features": dict(told["features"]),
            "exploration": told["exploration"],
        }
    return {name: told[name] for name in Action.model_fields} | {"params": params}
