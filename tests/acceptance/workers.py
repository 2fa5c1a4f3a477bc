"""Workers beside the one of `memstream up`, kept running as a deployment keeps them."""

import re
import subprocess
import threading
from contextlib import contextmanager

import psutil

from tests.acceptance.service import MEMSTREAM, free_port, page


class KeptWorker:
    """A `memstream worker`, and another one whenever it ends."""

    def __init__(self, service, log):
        port = free_port()
        self._web = f"http://127.0.0.1:{port}"
        self._environment = service._environment | {"MEMSTREAM_WEB_PORT": str(port)}
        self._log = log
        self._over = threading.Event()
        self._launch()
        self._keeper = threading.Thread(target=self._keep)
        self._keeper.start()

    @property
    def process(self):
        """The process it is now; None while there is none."""
        return psutil.Process(self._worker.pid) if self._worker.poll() is None else None

    def ready(self):
        return page(f"{self._web}/readyz") is not None

    def metric(self, name):
        """The sum of a metric over all its labels; 0 while there is none."""
        return total(page(f"{self._web}/metrics") or "", name)

    def stop(self):
        self._over.set()
        self._keeper.join()
        self._worker.kill()
        self._worker.wait(30)

    def _launch(self):
        self._worker = subprocess.Popen(
            [MEMSTREAM, "worker"], env=self._environment, stdout=self._log, stderr=self._log
        )

    def _keep(self):
        # It waits a little before each start, as whoever keeps workers running does.
        while not self._over.wait(0.5):
            if self._worker.poll() is not None:
                self._launch()


@contextmanager
def kept_worker(service, log):
    worker = KeptWorker(service, log)
    try:
        yield worker
    finally:
        worker.stop()


def total(metrics, name):
    found = re.findall(rf"^{re.escape(name)}(?:{{.*}})? (\S+)$", metrics, re.MULTILINE)
    return sum(map(float, found))
