"""A child process: its output is kept, it stops when told to, and it never outlives its starter."""

import asyncio
import os
import signal
import subprocess
import sys

import psutil
import pytest

from memstream.embedded.process import Process
from tests.acceptance.service import wait_for

PYTHON = sys.executable
PATIENT = """
import time
try:
    print("up", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""
STARTER = """
import asyncio, sys
from pathlib import Path
from memstream.embedded.process import Process
async def main():
    await Process.start("sleeper", ["sleep", "60"], log=Path(sys.argv[1]))
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def alive(pids):
    return [
        pid
        for pid in pids
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def family(pid):
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


async def test_its_output_goes_to_the_end_of_the_log(tmp_path):
    log = tmp_path / "logs" / "part.log"
    for word in ("one", "two"):
        process = await Process.start("echo", ["echo", word], log=log)
        assert await process.wait() == 0
    assert log.read_text() == "one\ntwo\n"


async def test_its_status_is_that_of_the_command():
    process = await Process.start("false", ["sh", "-c", "exit 7"])
    assert await process.wait() == 7
    assert not process.running


async def test_a_failure_shows_the_end_of_the_log(tmp_path):
    process = await Process.start(
        "the part", ["sh", "-c", "echo oh no; exit 3"], log=tmp_path / "l"
    )
    await process.wait()
    message = str(process.failure("did not start"))
    assert message.startswith("the part did not start (it ended with status 3)")
    assert message.endswith("oh no")


async def test_stopping_sends_the_signal_asked_for(tmp_path):
    log = tmp_path / "l"
    process = await Process.start(
        "patient", [PYTHON, "-c", PATIENT], log=log, stop_signal=signal.SIGINT
    )
    await asyncio.to_thread(wait_for, lambda: "up" in log.read_text(), "the command to be up")
    children = family(process._child.pid)
    await process.stop()
    assert log.read_text() == "up\ninterrupted\n"
    assert alive(children) == []


async def test_what_does_not_stop_is_killed(tmp_path):
    log = tmp_path / "l"
    process = await Process.start("stubborn", [PYTHON, "-c", STUBBORN], log=log, stop_timeout=0.2)
    await asyncio.to_thread(wait_for, lambda: "up" in log.read_text(), "the command to be up")
    children = family(process._child.pid)
    await process.stop()
    assert alive([*children, process._child.pid]) == []


async def test_stopping_twice_is_stopping_once():
    process = await Process.start("sleeper", ["sleep", "60"])
    await process.stop()
    await process.stop()
    assert not process.running


async def until_grown(process):
    grown = await asyncio.to_thread(wait_for, lambda: family(process._child.pid), "the command")
    return [*grown, process._child.pid]


@pytest.mark.parametrize("victim", ["starter", "guard"])
def test_killing_its_starter_or_its_guard_ends_it(tmp_path, victim):
    starter = subprocess.Popen(
        [PYTHON, "-c", STARTER, str(tmp_path / "l")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert starter.stdout.readline() == "started\n"
        wait_for(lambda: len(family(starter.pid)) == 2, "guard and command")
        guard, command = sorted(family(starter.pid))
        os.kill(starter.pid if victim == "starter" else guard, signal.SIGKILL)
        wait_for(lambda: not alive([guard, command]), "guard and command to end", 10)
    finally:
        starter.kill()
        starter.wait()
        starter.stdout.close()


async def test_ctrl_c_in_the_terminal_is_left_to_the_starter():
    process = await Process.start("sleeper", ["sleep", "60"])
    await until_grown(process)
    assert os.getsid(process._child.pid) != os.getsid(0)
    os.kill(process._child.pid, signal.SIGINT)
    assert process.running
    await process.stop()
