"""Several workers share the partitions, and nothing is lost when one joins, leaves or is killed."""

import os
import signal
import subprocess

from tests.acceptance.service import MEMSTREAM, Client, free_port, running, wait_for

ROUNDS = 15 if "MEMSTREAM_SOAK" in os.environ else 1


def start_worker(service, log):
    environment = service._environment | {"MEMSTREAM_WEB_PORT": str(free_port())}
    return subprocess.Popen([MEMSTREAM, "worker"], env=environment, stdout=log, stderr=log)


def test_no_request_is_lost_while_workers_come_and_go(tmp_path, parts, models):
    with (
        running(tmp_path / "data", *parts, models=models) as service,
        (tmp_path / "workers.log").open("wb") as log,
    ):
        client = Client(service.runtime["broker"])
        asked = []

        def ask(count):
            for n in range(count):
                # Sessions spread over the partitions, so that every worker has its share.
                asked.append(client.request(f"question {n}", session_id=f"s{n}"))

        ask(40)
        second = start_worker(service, log)
        try:
            wait_for(lambda: b"worker starting" in (tmp_path / "workers.log").read_bytes(), "it")
            for number in (signal.SIGTERM, signal.SIGKILL) * ROUNDS:
                ask(60)
                os.kill(second.pid, number)
                ask(60)
                second.wait(30)
                assert second.returncode in (0, -signal.SIGKILL)
                second = start_worker(service, log)
            for request_id in asked:
                assert client.result(request_id)["status"] == "ok"
        finally:
            second.kill()
            second.wait(30)
            client.close()
    assert b"Traceback" not in (tmp_path / "workers.log").read_bytes()
