"""Logs: one JSON object a line for machines, whatever it comes from; no tenant's text in any."""

import json
import subprocess
import sys

import pytest

WRITE = """
import asyncio, logging, sys, warnings
import structlog
from structlog.contextvars import bound_contextvars
from memstream.logs import set_up_logs

set_up_logs(*sys.argv[1:])
log = structlog.get_logger("agents.search")

def fail(query):
    secret = "hidden " + query
    try:
        raise KeyError(f"no {query}")
    except KeyError as error:
        raise ValueError(f"cannot read {query}") from error

def caught(logger, what):
    try:
        fail("marker")
    except ValueError:
        logger.exception(what)

log.info("plain", number=1)
log.debug("only at debug")
with bound_contextvars(tenant_id="acme", request_id="r1"):
    caught(log, "request failed")
    logging.getLogger("asyncpg").warning("a %s", "warning", extra={"shard": 7})
caught(logging.getLogger("aiokafka.conn"), "line one\\nline two")
logging.getLogger("faust.worker").info("chatty")
warnings.warn("old", UserWarning)
log.info("odd", value=object(), text="naïve ☃")
raise RuntimeError("the end")
"""


def write(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", WRITE, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


@pytest.fixture(scope="module")
def lines():
    return [json.loads(line) for line in write("json").splitlines()]


def find(lines, event):
    [found] = [line for line in lines if line["event"].startswith(event)]
    return found


@pytest.mark.requirement("OB-5")
def test_every_line_is_an_object_that_says_when_how_bad_and_who(lines):
    for line in lines:
        assert line.keys() >= {"timestamp", "level", "event", "logger"}
        assert line["timestamp"].endswith("Z")
    told = [(line["event"].split("\n")[0], line["level"], line["logger"]) for line in lines]
    assert told[:4] == [
        ("plain", "info", "agents.search"),
        ("request failed", "error", "agents.search"),
        ("a warning", "warning", "asyncpg"),
        ("line one", "error", "aiokafka.conn"),
    ]
    assert told[4][1:] == ("warning", "py.warnings")
    assert told[5] == ("odd", "info", "agents.search")
    assert told[6][:2] == ("ended by an error", "critical")
    assert len(told) == 7


def test_what_is_bound_is_on_the_lines_of_other_libraries_too(lines):
    for event in ("request failed", "a warning"):
        line = find(lines, event)
        assert (line["tenant_id"], line["request_id"]) == ("acme", "r1")
    assert find(lines, "a warning")["shard"] == 7
    assert "tenant_id" not in find(lines, "line one")


def test_tracebacks_are_whole_outside_messages_and_quote_nothing_inside(lines):
    outside = find(lines, "line one")["exception"]
    assert "KeyError: 'no marker'" in outside
    assert outside.endswith("ValueError: cannot read marker")
    inside = find(lines, "request failed")["exception"]
    assert "marker" not in inside.replace('fail("marker")', "")
    assert [line for line in inside.splitlines() if line[:1].isalpha()] == [
        *("Traceback (most recent call last):", "KeyError"),
        *("Traceback (most recent call last):", "ValueError"),
    ]
    assert "in fail" in inside
    assert find(lines, "ended by an error")["exception"].endswith("RuntimeError: the end")


def test_for_debugging_messages_are_shown():
    lines = [json.loads(line) for line in write("json", "debug").splitlines()]
    assert find(lines, "only at debug")["level"] == "debug"
    assert "cannot read marker" in find(lines, "request failed")["exception"]
    assert not [line for line in lines if line["event"] == "chatty"]


def test_people_read_lines_without_local_variables():
    text = write("console")
    assert "plain" in text
    assert "tenant_id=acme" in text
    assert "ValueError" in text
    assert "hidden" not in text.replace('secret = "hidden " + query', "")
    with pytest.raises(json.JSONDecodeError):
        json.loads(text.splitlines()[0])
