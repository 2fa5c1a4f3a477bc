"""Labelled trajectories as files, for those who analyse them elsewhere."""

from memstream.export.columns import SCHEMA_VERSION, read_parquet
from memstream.export.files import FORMATS, ExportError
from memstream.export.run import Exported, Period, export

__all__ = [
    "FORMATS",
    "SCHEMA_VERSION",
    "ExportError",
    "Exported",
    "Period",
    "export",
    "read_parquet",
]
