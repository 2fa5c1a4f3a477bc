"""What a terminal shows."""

import io

from rich.console import Console


def shown(what, width=140):
    console = Console(file=io.StringIO(), width=width)
    console.print(what)
    return console.file.getvalue()
