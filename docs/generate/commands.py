"""The command line, as it describes itself."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from docs.generate.tables import code, table
from memstream.cli.shell import app


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, by its full name without `memstream`."""
    import memstream.cli  # noqa: F401 - registers them

    for name, command in _children(get_command(app)):
        if hasattr(command, "commands"):
            for child, leaf in _children(command):
                yield f"{name} {child}", leaf
        else:
            yield name, command


def command_lines() -> list[str]:
    """Return every command with its arguments and options."""
    lines = ["", "## Commands", "", "`memstream COMMAND --help` says the same."]
    for name, command in commands():
        lines += ["", f"### memstream {name}", "", " ".join(command.help.split())]
        rows = [_parameter(one) for one in command.params if one.name != "help"]
        if rows:
            lines += table(("argument or option", "default", "meaning"), rows)
    return lines


def options(command: Any) -> set[str]:
    """Return the options of a command as they are typed."""
    typed = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    return {name for name in typed if name.startswith("-")} | {"--help"}


def _children(group: Any) -> list[tuple[str, Any]]:
    return sorted(group.commands.items())


def _parameter(parameter: Any) -> tuple[str, str, str]:
    argument = parameter.param_type_name == "argument"
    if argument:
        name = code(parameter.metavar or parameter.name.upper())
    else:
        name = ", ".join(code(one) for one in (*parameter.opts, *parameter.secondary_opts))
    if parameter.required:
        default = "required"
    elif parameter.default in (None, False, (), []):
        default = ""
    else:
        default = code(parameter.default)
    return name, default, parameter.help or ""
