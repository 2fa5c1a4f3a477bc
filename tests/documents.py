"""What the documents name: commands, settings, topics and codes, for comparison with the code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")
_PROGRAM = re.compile(r"^\$? ?(?:[A-Z_]+=\S+ )*(?:\S*/)?memstream ")


class Call(NamedTuple):
    """A command as a document writes it."""

    words: tuple[str, ...]
    """Everything after `memstream`, without what may be left out or stands for something else."""

    @property
    def options(self) -> set[str]:
        """What is written with dashes."""
        return {word.partition("=")[0] for word in self.words if re.match(r"-{1,2}[a-z]", word)}


def pages() -> dict[str, str]:
    """Return what people read, by its path."""
    files = [ROOT / "README.md", ROOT / "client" / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}


def code_in(text: str) -> Iterator[str]:
    """Yield every line of code: lines of blocks, and what is between backticks."""
    for block in _BLOCK.findall(text):
        yield from block.replace("\\\n", " ").splitlines()
    yield from (span.replace("\\|", "|") for span in _SPAN.findall(_BLOCK.sub("", text)))


def calls_in(text: str) -> Iterator[Call]:
    """Yield every command of ours, one for each that `a|b` stands for."""
    for line in code_in(text):
        begun = _PROGRAM.match(line.strip())
        if not begun:
            continue
        plain = line.strip()[begun.end() :].partition(" # ")[0]
        words = re.sub(r"[\[\]…·]", " ", plain).split()
        for place in (0, 1):
            if len(words) > place and re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", words[place]):
                for one in words[place].split("|"):
                    yield Call((*words[:place], one, *words[place + 1 :]))
                break
        else:
            if words and re.fullmatch(r"[a-z][a-z-]*,?", words[0]):
                yield Call((words[0].rstrip(","), *words[1:]))


def settings_in(text: str) -> set[str]:
    """Return the settings named, without their prefix."""
    named = re.findall(r"\bMEMSTREAM_([A-Z0-9_]*[A-Z0-9])", text)
    for row in rows_under(text, "setting"):
        named += [one for one in _SPAN.findall(row[0]) if _CAPITALS.fullmatch(one)]
    for line in code_in(text):
        named += re.findall(r"^([A-Z][A-Z0-9_]+)=[\w…]+$", line)
    return {one.removeprefix("MEMSTREAM_") for one in named} - {"KEY"}


def topics_in(text: str) -> set[str]:
    """Return the full names of topics under the usual prefix; metrics are called alike."""
    # The client of the examples is called memory, too, but what it does is called.
    named = set(re.findall(r"\bmemory\.[a-z][a-z.-]*[a-z]\b(?!\()", text))
    return {name for name in named if not name.startswith("memory.rlm.")}


def codes_in(text: str) -> set[str]:
    """Return the codes of errors in tables that have a column for them."""
    found = set()
    for column in (0, 1):
        for row in rows_under(text, "code", column):
            found |= set(_SPAN.findall(row[column]))
    return found


def rows_under(text: str, head: str, column: int = 0) -> Iterator[list[str]]:
    """Yield the rows of tables whose column is headed so."""
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not inside and len(cells) > column and cells[column] == head:
            inside = True
        elif inside and not cells[0].startswith("---"):
            yield cells
