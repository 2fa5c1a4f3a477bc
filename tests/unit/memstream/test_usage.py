"""Whatever a user gets wrong on the command line ends in one line on stderr and status 1."""

import io
import json
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from memstream_client import ForbiddenError, SearchResult

from memstream import calling
from memstream.cli import main


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["memstream", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search",), "missing argument 'query' (see memstream search --help)"),
        (("search", "cats"), "missing option '--tenant' / '-t'"),
        (("search", "cats", "-t", "acme", "--loud"), "no such option: --loud"),
        (("search", "cats", "-t", "acme", "--limit", "many\nand\nmore"), "--limit"),
        (("search", "cats", "dogs", "-t", "acme"), "unexpected extra argument(s) (dogs)"),
        (("fly",), "no such command 'fly'"),
        (("policy", "burn"), "no such command 'burn' (see memstream policy --help)"),
        (("policy", "history", "-t", "acme", "--limit", "0"), "--limit"),
        (("mcp", "--tenant", ""), "tenant_id"),
        (("mcp", "--tenant", "acme", "--http", "--port", "65536"), "--port"),
    ],
    ids=" ".join,
)
def test_what_was_typed_wrongly_is_one_line(monkeypatch, capsys, arguments, said):
    assert run(monkeypatch, *arguments) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert said in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [(), ("policy",), ("tenant",), ("policy", "--help")])
def test_who_asks_for_no_command_is_told_which_there_are(monkeypatch, capsys, arguments):
    assert not run(monkeypatch, *arguments)
    told = capsys.readouterr()
    assert "Usage: memstream" in told.out
    assert told.err == ""


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_search_that_is_refused_fails(monkeypatch, capsys, options):
    answer = {"request_id": "r", "tenant_id": "acme", "session_id": "s", "status": "error"}
    answer |= {"error": {"code": "forbidden", "message": "not\nyours"}, "results": []}
    answer |= {"completed_at": "2026-11-16T12:00:00Z", "degraded": False}

    async def refuse(*_, **__):
        raise ForbiddenError("not\nyours", SearchResult.model_validate_json(json.dumps(answer)))

    @asynccontextmanager
    async def refusing(*_):
        try:
            yield SimpleNamespace(search=refuse, recall=refuse)
        except ForbiddenError as error:
            raise calling.told(error) from error

    monkeypatch.setattr(calling, "calling", refusing)
    assert run(monkeypatch, "search", "cats", "-t", "acme", *options) == 1
    told = capsys.readouterr()
    assert told.err == "error: forbidden: not yours\n"
    printed = json.loads(told.out or "{}")
    assert printed.get("error") == (answer["error"] if options else None)
