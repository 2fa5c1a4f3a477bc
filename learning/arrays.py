"""Arrays of double precision, and how they are written: exactly, and fast."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


def written(array: Floats) -> dict[str, Any]:
    """Return an array as JSON has it: its bytes, as digits would cost milliseconds a step."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "data": b64encode(data).decode("ascii")}


def read(value: dict[str, Any]) -> Floats:
    """Return the array that was written."""
    data = np.frombuffer(b64decode(value["data"]), dtype="<f8")
    return data.astype(np.float64).reshape(value["shape"])


def places(names: Sequence[str], among: Sequence[str]) -> Integers:
    """Return where each name is in a longer sequence that has them all."""
    index = {name: place for place, name in enumerate(among)}
    return np.array([index[name] for name in names], dtype=np.intp)


def united(*several: Iterable[str]) -> tuple[str, ...]:
    """Return all names once, in their order: whoever came first must not matter."""
    # Mostly all are the same: to compare them costs less than to go through each.
    different = {tuple(names) for names in several}
    return tuple(sorted({name for names in different for name in names}))
