"""The entry point: ``memstream``, or ``python -m memstream``."""

import os
import signal

INTERRUPTED = 130
"""What shells expect of a command ended by Ctrl-C: 128 and the signal's number."""


def main() -> None:
    """Run the command line; a Ctrl-C while it is still being loaded ends it without a traceback."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from memstream.cli import main as run

    run()


if __name__ == "__main__":
    main()
