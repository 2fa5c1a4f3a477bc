"""Files that trajectories are written to: whole under their name, or not at all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from memstream.export.columns import row, schema
from models import Trajectory

ROWS_AT_A_TIME = 500
"""So many trajectories are Python objects at once; as columns they need a fraction of that."""

BYTES_AT_A_TIME = 8 * 1024 * 1024
"""Fewer, if they are so large."""

GROUP_ROWS = 10_000
GROUP_BYTES = 64 * 1024 * 1024
"""A row group of a Parquet file has so many rows, or so many bytes before they are compressed."""


class ExportError(Exception):
    """Nothing was exported; the message says what to do."""


class Writer(Protocol):
    """Takes trajectories one by one."""

    def write(self, trajectory: Trajectory, size: int) -> None:
        """Write one that had so many bytes as a message."""

    def close(self) -> None:
        """Write what is left."""


class JsonLines:
    """A message a line, as it is on the topic."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write(self, trajectory: Trajectory, size: int) -> None:
        """Write a line."""
        self._file.write(trajectory.model_dump_json() + "\n")

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


class Parquet:
    """Columns, in row groups."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ModuleNotFoundError:
            raise ExportError(
                "Parquet needs pyarrow: install memstream[analytics], or use --format jsonl"
            ) from None
        self._batch: Callable[..., Any] = pa.RecordBatch.from_pylist
        self._table: Callable[..., Any] = pa.Table.from_batches
        self._sink = path.open("wb")
        self._file = pq.ParquetWriter(self._sink, schema(), compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0
        self._group: list[Any] = []

    def write(self, trajectory: Trajectory, size: int) -> None:
        """Keep it until there are enough for a row group."""
        self._rows.append(row(trajectory))
        self._bytes += size
        if len(self._rows) >= ROWS_AT_A_TIME or self._bytes >= BYTES_AT_A_TIME:
            self._convert()
            rows = sum(one.num_rows for one in self._group)
            if rows >= GROUP_ROWS or sum(one.nbytes for one in self._group) >= GROUP_BYTES:
                self._write_group()

    def close(self) -> None:
        """Write what is left, and what the file holds."""
        try:
            self._convert()
            self._write_group()
            self._file.close()
        finally:
            self._sink.close()

    def _convert(self) -> None:
        if self._rows:
            self._group.append(self._batch(self._rows, schema=schema()))
            self._rows, self._bytes = [], 0

    def _write_group(self) -> None:
        if self._group:
            group = self._table(self._group)
            self._file.write_table(group, row_group_size=group.num_rows)
            self._group = []


FORMATS: dict[str, Callable[[Path], Writer]] = {"parquet": Parquet, "jsonl": JsonLines}


class Output:
    """A file under another name, which becomes its own once all is written."""

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        # Whoever exports to the same file at the same time has another name.
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        with self._told():
            if path.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            self._writer = FORMATS[form](self._temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._told():
                self._writer.close()
                if kind is None:
                    self._temporary.replace(self._path)
        finally:
            self._temporary.unlink(missing_ok=True)

    def write(self, trajectory: Trajectory, size: int) -> None:
        """Write one that had so many bytes as a message."""
        with self._told():
            self._writer.write(trajectory, size)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise ExportError(f"{self._path} cannot be written: {why}") from error
