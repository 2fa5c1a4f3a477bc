"""Several workers share the partitions, and nothing is lost when one joins, leaves or is killed."""

import os
import signal
import subprocess
from contextlib import contextmanager

from tests.acceptance.service import MEMSTREAM, Client, free_port, page, running, wait_for

ROUNDS = 15 if "MEMSTREAM_SOAK" in os.environ else 1


@contextmanager
def another_worker(service, log):
    """A second worker, which has its share of the partitions."""
    port = free_port()
    environment = service._environment | {"MEMSTREAM_WEB_PORT": str(port)}
    worker = subprocess.Popen([MEMSTREAM, "worker"], env=environment, stdout=log, stderr=log)
    ready = f"http://127.0.0.1:{port}/readyz"
    try:
        wait_for(lambda: page(ready) is not None, "the second worker to have partitions")
        yield worker
    finally:
        worker.kill()
        worker.wait(30)


def test_no_request_is_lost_while_workers_come_and_go(tmp_path, parts, models):
    with (
        running(tmp_path / "data", *parts, models=models, embedder="none") as service,
        (tmp_path / "workers.log").open("wb") as log,
    ):
        client = Client(service.runtime["broker"])
        asked = []

        def ask(count):
            for n in range(count):
                # Sessions spread over the partitions, so that every worker has its share.
                asked.append(client.request(f"question {n}", session_id=f"s{n}"))

        for number in (signal.SIGTERM, signal.SIGKILL) * ROUNDS:
            ask(20)
            with another_worker(service, log) as second:
                ask(60)
                second.send_signal(number)
                ask(60)
                assert second.wait(30) == (0 if number == signal.SIGTERM else -number)
        for request_id in asked:
            assert client.result(request_id)["status"] == "ok"
        client.close()
    assert b"Traceback" not in (tmp_path / "workers.log").read_bytes()
