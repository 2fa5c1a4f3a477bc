"""Where the parts are that the settings name, and where there is room for another."""

import socket
from pathlib import Path

from memstream.embedded.process import PartError
from memstream.settings import Settings

PORTS_TO_TRY = 20


def sqlite_path(settings: Settings) -> Path:
    """Return where the embedded store keeps its file."""
    return settings.data_dir / "memstream.db"


def free_port(host: str, wanted: int) -> int:
    """Return the wanted port or the next free one after it."""
    for port in range(wanted, min(wanted + PORTS_TO_TRY, 65_536)) if wanted else (0,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            chosen: int = probe.getsockname()[1]
            return chosen
    raise PartError(f"no free port from {wanted} on for the console: set MEMSTREAM_WEB_PORT")
