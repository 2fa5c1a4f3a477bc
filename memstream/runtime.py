"""Where a running memstream is: written by ``up``, read by the other commands."""

import json
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from memstream.settings import Settings


class Runtime(BaseModel):
    """The addresses of a running service."""

    model_config = ConfigDict(frozen=True)

    broker: str
    web: str
    database: str
    pid: int

    def write(self, data_dir: Path) -> None:
        """Write the file; the database URL may hold a password, so only we may read it."""
        path = _path(data_dir)
        temporary = path.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(json.dumps(self.model_dump(), indent=2) + "\n")
        temporary.replace(path)


def read_runtime(data_dir: Path) -> Runtime | None:
    """Return the running service's addresses, None if there is none."""
    try:
        runtime = Runtime.model_validate_json(_path(data_dir).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return runtime if _wrote(runtime.pid, _path(data_dir)) else None


def forget_runtime(data_dir: Path) -> None:
    """Remove the file when the service has stopped."""
    _path(data_dir).unlink(missing_ok=True)


def with_running_parts(settings: Settings) -> Settings:
    """Fill in the running service's parts where nothing else is configured."""
    runtime = read_runtime(settings.data_dir)
    if runtime is None:
        return settings
    found: dict[str, str | Path] = {}
    if not settings.broker.startswith("kafka://"):
        found["broker"] = f"kafka://{runtime.broker}"
    if settings.database in ("embedded", "embedded-postgres") and "://" in runtime.database:
        found["database"] = runtime.database
    elif settings.database == "embedded" and "://" not in runtime.database:
        # Its file may be in a folder of its own, as that of a demonstration is.
        found["data_dir"] = Path(runtime.database).parent
    return settings.model_copy(update=found)


def _wrote(pid: int, path: Path) -> bool:
    """Tell whether the process is alive and older than the file: numbers are given out again."""
    import psutil  # only where a service runs, or ran, is there anything to ask it

    try:
        return psutil.Process(pid).create_time() <= path.stat().st_mtime
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


def _path(data_dir: Path) -> Path:
    return data_dir / "runtime.json"
