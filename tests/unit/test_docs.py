"""What the documents name is in the code, and what is in the code is in the documents."""

import os
import re
import subprocess
import sys
from typing import get_args

import pytest

from docs.generate.__main__ import PAGE, page
from docs.generate.commands import commands, options
from docs.generate.settings import ENVIRONMENT
from learning.labelling import REASONS
from memstream.settings import Settings
from models import ErrorCode
from tests.documents import (
    ROOT,
    Call,
    calls_in,
    code_in,
    codes_in,
    pages,
    rows_under,
    settings_in,
    topics_in,
)
from topics import CONTRACT, Topic, TopicNames

PAGES = pages()
WRITTEN = {name: text for name, text in PAGES.items() if name != "docs/reference.md"}
"""What is not generated: to be in the reference alone is to be documented by nobody."""

COMMANDS = dict(commands())
SETTINGS = {name.upper() for name in Settings.model_fields}
CODES = {*get_args(ErrorCode), *REASONS}

each_page = pytest.mark.parametrize("name", PAGES)


def wrong(call):
    """Return what is wrong with a command as it is written, if anything."""
    groups = {name.partition(" ")[0] for name in COMMANDS if " " in name}
    name = call.words[0]
    if name in groups:
        if len(call.words) == 1 or not re.fullmatch(r"[a-z-]+", call.words[1]):
            return None
        name = f"{name} {call.words[1]}"
    if name not in COMMANDS:
        return f"there is no command {name}"
    unknown = call.options - options(COMMANDS[name])
    return f"{name} has no {sorted(unknown)}" if unknown else None


@each_page
def test_commands_that_are_named_exist(name):
    assert [found for call in calls_in(PAGES[name]) if (found := wrong(call))] == []


def test_every_command_is_written_about():
    named = {words for text in WRITTEN.values() for words in _beginnings(text)}
    assert set(COMMANDS) - named == set()


def _beginnings(text):
    for call in calls_in(text):
        yield call.words[0]
        yield " ".join(call.words[:2])


@each_page
def test_settings_that_are_named_exist(name):
    assert settings_in(PAGES[name]) - SETTINGS - set(ENVIRONMENT) == set()


def test_every_setting_is_documented():
    assert settings_in(PAGES["docs/reference.md"]) >= SETTINGS


@each_page
def test_topics_that_are_named_exist(name):
    known = {TopicNames().name(topic) for topic in Topic}
    # `memory.internal.` alone stands for all of them.
    assert topics_in(PAGES[name]) - known - {"memory.internal"} == set()


def test_every_topic_is_written_about():
    spans = {line for text in WRITTEN.values() for line in code_in(text)}
    names = {topic.value.suffix for topic in CONTRACT}
    assert {name for name in names if not {name, f"memory.{name}"} & spans} == set()


@each_page
def test_codes_that_are_named_exist(name):
    assert codes_in(PAGES[name]) - CODES == set()


def test_every_code_is_written_about():
    assert CODES - {code for text in WRITTEN.values() for code in codes_in(text)} == set()


def test_the_reference_is_what_the_code_says():
    assert PAGE.read_text("utf-8") == page(), "run: make generate"


@each_page
def test_links_to_files_lead_somewhere(name):
    folder = (ROOT / name).parent
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", PAGES[name])
    assert [link for link in links if not (folder / link).exists()] == []


# The comparison itself: it must see what it is for.

MADE_UP = """
Run `memstream fly --high`, `memstream search tea --tenant T --loud` or
`memstream policy show|burn -t T`; `await memory.search(query)` is no topic.

```console
$ MEMSTREAM_BROKER=kafka://x memstream tenant forget acme   # not there
$ .venv/bin/memstream up
memstream/   a folder
```

Set `MEMSTREAM_COLOUR`, or `AUTH=jwt` and `SHOE_SIZE=43`; publish to memory.search.wishes,
read memory.rlm.routing.decision.

| setting | default |
| --- | --- |
| `BROKER`, `BRAKER` | |

| refused | code |
| --- | --- |
| this | `forbidden`, `verboten` |
"""


def test_what_does_not_exist_is_noticed():
    complaints = [found for call in calls_in(MADE_UP) if (found := wrong(call))]
    assert sorted(complaints) == [
        "search has no ['--loud']",
        "there is no command fly",
        "there is no command policy burn",
        "there is no command tenant forget",
    ]
    assert settings_in(MADE_UP) - SETTINGS == {"COLOUR", "BRAKER", "SHOE_SIZE"}
    assert topics_in(MADE_UP) == {"memory.search.wishes"}
    assert codes_in(MADE_UP) - CODES == {"verboten"}


def test_what_exists_is_recognised():
    calls = list(
        calls_in("`memstream dead-letters list --limit 5` and `memstream up [--broker …]`")
    )
    assert calls == [
        Call(("dead-letters", "list", "--limit", "5")),
        Call(("up", "--broker")),
    ]
    assert [wrong(call) for call in calls] == [None, None]
    assert list(
        rows_under("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n| c |\n| --- |\n| 3 |", "a")
    ) == [["1", "2"]]


# The site.


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documents as a site, built as CI builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # The theme warns of what its next version will do; that is not about these documents.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_the_site_has_every_page(site):
    for name in PAGES:
        folder, _, file = name.rpartition("/")
        if folder == "docs" and file != "index.md":
            assert (site / file.removesuffix(".md") / "index.html").is_file()
    assert not list(site.rglob("*.pyc"))


def test_the_site_loads_nothing_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=[\"']?(https?:)?//"
        r"|<link[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon|dns-prefetch)[^>]*href=[\"']?(https?:)?//"
        r"|<link[^>]*href=[\"']?(https?:)?//[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon)"
    )
    for html in site.rglob("*.html"):
        assert not loads.search(html.read_text()), html
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text()), style
