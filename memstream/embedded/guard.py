"""Runs one command and stops it when whoever started the guard is gone.

A script of the standard library alone, run as
``python -I -S guard.py STOP_SIGNAL TIMEOUT COMMAND…``: its standard input is a pipe whose other
end only the starter holds. The kernel closes that end however the starter dies, SIGKILL
included, and the guard then stops the command.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
"""Linux: the signal a process gets when its parent dies (linux/prctl.h)."""

IGNORED = (signal.SIGINT, signal.SIGHUP)
"""Ctrl-C is the starter's business: it closes the pipe when the command's turn has come."""


def preparation(stop_signal: int) -> Callable[[], None]:
    """Return what the command runs before exec."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        # What the guard ignores, its command must not.
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        if prctl is not None:
            # Killing the guard stops the command, too.
            prctl(PR_SET_PDEATHSIG, stop_signal)

    return prepare


def stop(command: "subprocess.Popen[bytes]", stop_signal: int, timeout: float) -> None:
    """Ask the command to stop; after ``timeout`` seconds kill it and all it started."""
    if command.poll() is None:
        command.send_signal(stop_signal)
    try:
        command.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, signal.SIGKILL)


def main() -> int:
    """Run the command until it ends, or until standard input or a signal says stop."""
    stop_signal, timeout, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    command = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=preparation(stop_signal),
    )

    def stop_command(*_: object) -> None:
        threading.Thread(target=stop, args=(command, stop_signal, timeout), daemon=True).start()

    def wait_for_starter() -> None:
        os.read(0, 1)
        stop_command()

    signal.signal(signal.SIGTERM, stop_command)
    threading.Thread(target=wait_for_starter, daemon=True).start()
    status = command.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
