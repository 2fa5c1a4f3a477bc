"""From outside: whatever is repeated, reordered, killed or restarted, every label is the log's."""

import json
import os
import threading
import time
from collections import Counter

import pytest

from models import Decision
from tests.acceptance.history import MEMORY, History
from tests.acceptance.ledger import Ledger
from tests.acceptance.service import Client, page, running, wait_for
from tests.acceptance.workers import kept_worker, total
from tests.integration.fixtures_postgres import KILLABLE
from tests.integration.storage.aftermath import CORRECTION, WINDOW

SEARCHES = 100_000 if "MEMSTREAM_SOAK" in os.environ else 20_000
SEARCHES_EMBEDDED = 2_000
"""The embedded broker keeps 5 MiB a partition: whoever is further behind loses what is older."""

PATIENCE_S = 300 + SEARCHES / 100
STOPPED_S = 8
"""Longer than a worker may be silent before its partitions are given to others."""

WINDOWS = {
    "outcome_window_s": WINDOW.total_seconds(),
    "correction_window_s": CORRECTION.total_seconds(),
}


COUNTED = (
    *("memstream_labels_total", "memstream_label_seconds_count", "memstream_dead_letters_total"),
    *("memstream_join_duplicates_total", "memstream_messages_total"),
)
"""What workers have counted at some time; those that are killed begin anew."""

RISING = ("memstream_consumer_lag", "memstream_open_trajectories")
"""What is told every few seconds while there is much to do."""

GONE_AT_LAST = (
    *("memstream_consumer_lag", "memstream_open_trajectories", "memstream_parked_signals"),
    *("memstream_outbox_messages", "memstream_outbox_age_seconds"),
)


class Trial:
    """A history on its way through a service, and what is done to the service meanwhile."""

    def __init__(self, service, history, others=()):
        self._service = service
        self._history = history
        self._others = others
        self._client = Client(service.runtime["broker"], ("trajectories", "dead-letters"))
        self._published = 0
        self.risen = set()
        self.ledger = Ledger(self._client, history)

    def prepare(self):
        """Give each tenant its memory, and let some signals come before their searches."""
        for tenant in self._history.tenants:
            self._client.remember(MEMORY, "Her cat is called Momo", tenant=tenant)
        wait_for(lambda: len(self._uses()) == len(self._history.tenants), "the memories")
        self.publish(self._history.early)
        waiting = len(self._history.early)
        wait_for(
            lambda: self._metric("memstream_signals_parked_total") == waiting, "signals to wait"
        )
        for worker in self._others:
            parked = worker.metric("memstream_signals_parked_total")
            assert 0 < parked < waiting, "the workers share the partitions"
        assert waiting / self._history.signals >= 0.0499
        late = Counter(self._history.dead().values())["late"]
        assert late / self._history.signals >= 0.05
        events = self.ledger.searches + self._history.signals
        assert self._history.repeated / events >= 0.0999

    def publish(self, events):
        for event in events:
            topic, key, value, at = self._history.written(event)
            self._client._producer.produce(topic, value, key=key, timestamp=at)
            self._client._producer.poll(0)
            self._published += isinstance(event, Decision)
        assert self._client._producer.flush(60) == 0

    def _watched(self):
        """Note which numbers have risen by now, and return how many searches are labelled."""
        self.risen |= {name for name in (*RISING, *COUNTED) if self._metric(name) > 0}
        return self.ledger.read()

    def harm(self, what, share, do, *arguments):
        """Do something to the service when a share of all is done, and work is left."""
        enough = share * self.ledger.searches
        wait_for(lambda: self._watched() >= enough, f"{share:.0%} of the labels", PATIENCE_S)
        self._tell(what)
        do(*arguments)
        self._tell(f"after {what}")

    def _tell(self, when):
        done = self.ledger.read()
        left = self.ledger.searches - done
        print(f"{time.strftime('%X')} {when}: {done} of {self.ledger.searches} searches labelled")
        assert left > 0, f"nothing was left to do: {when}"

    def finish(self):
        """Wait until everything is read and published, and hold it against the log."""
        wait_for(lambda: not self.ledger.wrong(), "every label to be right", PATIENCE_S)
        wait_for(self._idle, "all to be read and published", PATIENCE_S)
        self.ledger.check()
        # All windows ended before anything was read: whoever does not wait settles everything.
        assert self.ledger.hasty() <= self.ledger.searches / 100
        self._watched()
        assert self.risen >= {*COUNTED}
        assert self._uses() == self._history.uses()
        letters = {
            json.loads(one.value())["event_id"]: dict(one.headers())[
                "memstream-error-code"
            ].decode()
            for one in self._client.dead_letters()
        }
        dead = self._history.dead()
        late = {event for event, reason in dead.items() if reason == "late"}
        # Whether a session that was abandoned had searches is told some minutes later.
        assert late <= letters.keys()
        assert letters.items() <= dead.items()
        history = self._history
        print(
            f"{time.strftime('%X')} {self.ledger.searches} searches and {history.signals} signals, "
            f"{history.repeated} of both twice, {len(history.early)} early, {len(late)} late; "
            f"{self.ledger.published_again()} trajectories published again, "
            f"{self.ledger.hasty()} labelled in haste"
        )
        self._client.close()

    def _uses(self):
        return {
            tenant: counts[MEMORY].use_count
            for tenant in self._history.tenants
            if (counts := self._service.counts(tenant, MEMORY))
        }

    def _idle(self):
        return not any(self._metric(name) for name in GONE_AT_LAST)

    def _metric(self, name):
        told = total(page(f"{self._service.runtime['web']}/metrics") or "", name)
        return told + sum(worker.metric(name) for worker in self._others)


def kill(worker):
    wait_for(worker, "a worker").kill()


def stop(worker):
    """Let a worker be silent for so long that others get its work, and then go on with it."""
    stopped = wait_for(worker, "a worker")
    stopped.suspend()
    time.sleep(STOPPED_S)
    stopped.resume()


@pytest.mark.requirement("TR-1", "TR-2", "TR-3", "SE-1", "SE-10", "OB-5")
def test_every_label_is_that_of_the_log(tmp_path, models):
    history = History(5, SEARCHES_EMBEDDED)
    with running(tmp_path / "data", models=models, embedder="none", **WINDOWS) as service:
        trial = Trial(service, history)
        trial.prepare()
        trial.publish(history.rest)
        for what, share, do in (
            *(("kill", 0.05, kill), ("stop", 0.1, stop)),
            *(("kill", 0.2, kill), ("kill", 0.4, kill)),
        ):
            trial.harm(what, share, do, service.worker)
        trial.finish()


@pytest.mark.requirement("TR-1", "TR-2", "TR-3", "SE-1", "SE-10", "OB-5")
def test_every_label_is_that_of_the_log_on_real_parts(
    tmp_path, models, start_kafka, start_postgres
):
    """Two workers at a time; they, the broker and the database are killed, and one is stopped."""
    history = History(6, SEARCHES)
    broker = start_kafka(tmp_path / "kafka")
    database = start_postgres(tmp_path / "postgres", settings=KILLABLE)
    options = ("--broker", f"kafka://{broker.bootstrap}", "--database", database.url)

    def restart_broker(meanwhile):
        broker.kill()
        publishing = threading.Thread(target=trial.publish, args=(meanwhile,))
        publishing.start()
        assert start_kafka(tmp_path / "kafka").bootstrap == broker.bootstrap
        publishing.join()

    def restart_database():
        database.kill()
        assert start_postgres(tmp_path / "postgres", settings=KILLABLE).url == database.url

    with (
        running(tmp_path / "data", *options, models=models, embedder="none", **WINDOWS) as service,
        (tmp_path / "worker.log").open("wb") as log,
        kept_worker(service, log) as other,
    ):
        wait_for(other.ready, "the second worker to have its share")
        trial = Trial(service, history, [other])
        trial.prepare()
        now, later = history.rest[: len(history.rest) // 2], history.rest[len(history.rest) // 2 :]
        trial.publish(now)
        one, another = service.worker, lambda: other.process
        trial.harm("kill", 0.04, kill, one)
        trial.harm("stop", 0.08, stop, another)
        trial.harm("restart of the broker", 0.12, restart_broker, later)
        trial.harm("kill", 0.3, kill, another)
        trial.harm("restart of the database", 0.4, restart_database)
        trial.harm("kill", 0.5, kill, one)
        trial.finish()
        assert trial.risen >= {*RISING}
    print((tmp_path / "worker.log").read_text()[-20_000:])
