"""Starting, being killed and stopping: nothing unanswered, nothing left behind, no traceback."""

import json
import os
import signal
import subprocess
import time

import psutil
import pytest

from tests.acceptance.service import MEMSTREAM, Client, Service, running, wait_for

CTRL_C_PROMISE_S = 5.0
KILLS = 30 if "MEMSTREAM_SOAK" in os.environ else 2
MEMORY_PROMISE_BYTES = 700 * 1024 * 1024


@pytest.fixture
def client_of():
    clients = []

    def connect(service):
        clients.append(Client(service.runtime["broker"]))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


def test_requests_published_while_the_worker_is_dead_are_answered(
    tmp_path, parts, models, client_of
):
    with running(tmp_path / "data", *parts, models=models, embedder="none") as service:
        client = client_of(service)
        asked = []
        for _ in range(KILLS):
            worker = service.worker()
            # Requests before, during and after the kill: some are in the worker's hands, some not.
            asked += [client.request(f"question {n}") for n in range(20)]
            worker.kill()
            asked += [client.request(f"question {n}") for n in range(20)]
            wait_for(lambda dead=worker: service.worker() not in (None, dead), "a new worker")
        for request_id in asked:
            assert client.result(request_id)["status"] == "ok"
        wait_for(service.ready, "the new worker to be ready")


@pytest.mark.alone  # it measures seconds
def test_ctrl_c_stops_everything_soon_and_quietly(tmp_path, parts, models):
    with running(tmp_path / "data", *parts, models=models) as service:
        assert service.stop() < CTRL_C_PROMISE_S
        assert service.process.returncode == 0
        wait_for(lambda: not service.left_over(), f"{service.tree} to end", 1.0)
        assert "Traceback" not in service.output()
        assert not (service.data_dir / "runtime.json").exists()


@pytest.mark.alone  # it measures seconds
def test_ctrl_c_while_starting_stops_too(tmp_path, models):
    service = Service(tmp_path / "data", models=models)
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen([MEMSTREAM, "up"], env=service._environment, stdout=log, stderr=log)
    wait_for(lambda: psutil.Process(process.pid).children(), "the first child")
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    assert process.wait(CTRL_C_PROMISE_S) == 0
    log.close()
    assert psutil.wait_procs(children, 1.0)[1] == []
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_memories_survive_a_restart_and_a_kill_which_no_process_does(
    tmp_path, parts, models, client_of
):
    with running(tmp_path / "data", *parts, models=models) as service:
        client = client_of(service)
        client.remember("cat", "Her cat is called Momo", tenant="restart")
        client.search_until("pet", "cat", tenant="restart")
        before = service.runtime
    with running(tmp_path / "data", *parts, models=models) as service:
        assert service.runtime["database"] == before["database"]
        client_of(service).search_until("pet", "cat", tenant="restart")
        service.processes()
        service.process.kill()
        service.process.wait()
        wait_for(lambda: not service.left_over(), "the children of a killed service to end", 15)
        # The file it left behind names a process that is gone, so a new start is not refused.
        with running(tmp_path / "data", *parts, models=models) as again:
            client_of(again).search_until("pet", "cat", tenant="restart")


def test_the_whole_service_stays_small(tmp_path, models, client_of):
    with running(tmp_path / "data", models=models) as service:
        client = client_of(service)
        text = "many words about it " * 40
        client.remember_all({f"m{n}": f"Fact number {n}: {text}" for n in range(100)})
        client.remember("last", "The very last one is about zebras")
        client.search_until("zebras", "last")
        used = sum(process.memory_info().rss for process in service.processes())
        assert used < MEMORY_PROMISE_BYTES


def test_a_second_service_in_the_same_folder_is_refused_and_told_where_the_first_is(
    tmp_path, models
):
    with running(tmp_path / "data", models=models, embedder="none") as service:
        written = json.loads((service.data_dir / "runtime.json").read_text())
        assert set(written) == {"broker", "web", "database", "pid"}
        assert written["pid"] == service.process.pid
        assert (service.data_dir / "runtime.json").stat().st_mode & 0o077 == 0
        outcome = service.command("up", check=False)
        assert outcome.returncode == 1
        assert "running here already" in outcome.stderr
        assert written["web"] in outcome.stderr
        assert "Traceback" not in outcome.stderr


def test_without_a_service_commands_say_how_to_start_one(tmp_path):
    started = time.monotonic()
    outcome = Service(tmp_path / "data").command("search", "x", "--tenant", "t", check=False)
    assert time.monotonic() - started < 30
    assert outcome.returncode == 1
    assert "make up" in outcome.stderr
    assert len(outcome.stderr.strip().splitlines()) == 1


def test_a_wrong_setting_is_one_clear_line(tmp_path):
    service = Service(tmp_path / "data")
    service._environment["MEMSTREAM_WEB_PORT"] = "many"
    outcome = service.command("up", check=False)
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("error: MEMSTREAM_WEB_PORT")
    assert "Traceback" not in outcome.stderr


def test_what_a_user_got_wrong_is_one_clear_line(tmp_path):
    command = Service(tmp_path / "data").command
    for arguments, complaint in (
        (("search", "", "--tenant", "t"), "query"),
        (("search", "x", "--tenant", "t", "--mode", "psychic"), "mode"),
        (("remember", "x", "--tenant", "t", "--layer", "attic"), "layer"),
        (("import", "nowhere.jsonl"), "nowhere.jsonl"),
        (("search", "x"), "--tenant"),
        (("policy", "promote", "--tenant", "t", "--now"), "--now"),
        (("fly",), "fly"),
        (("mcp", "--tenant", ""), "tenant_id"),
    ):
        outcome = command(*arguments, check=False)
        assert outcome.returncode == 1
        assert len(outcome.stderr.strip().splitlines()) == 1
        assert complaint in outcome.stderr
        assert "Traceback" not in outcome.stderr
