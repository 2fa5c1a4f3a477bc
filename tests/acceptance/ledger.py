"""What became of a history: the trajectories as they are published, held against the log."""

import itertools
import json
from collections import defaultdict

import pytest

from tests.integration.storage.aftermath import labels


class Ledger:
    """Reads trajectories as they come."""

    def __init__(self, client, history):
        self._client = client
        self._expected = history.labels()
        self._read = 0
        self._tenants = set(history.tenants)
        self._told = defaultdict(lambda: defaultdict(set))
        """By search and revision, what was told under it."""
        self._wrong = dict.fromkeys(self._expected)
        """The searches whose last label is not the log's, and what it is."""

    def read(self):
        """Read what is new, and return how many searches have a label."""
        self._client.poll()
        new = self._client._seen["memory.trajectories"][self._read :]
        self._read += len(new)
        for message in new:
            trajectory = json.loads(message.value())
            if trajectory["tenant_id"] in self._tenants:
                name, revision = trajectory["request_id"], trajectory["revision"]
                self._told[name][revision].add(message.value())
                self._judge(name)
        return len(self._told)

    def _judge(self, name):
        revisions = self._told[name]
        last = json.loads(next(iter(revisions[max(revisions)])))
        told = labels([last])[0][2:], pytest.approx(last["reward"]), last["used"]
        if told == self._expected.get(name):
            self._wrong.pop(name, None)
        else:
            self._wrong[name] = told

    @property
    def searches(self):
        return len(self._expected)

    def wrong(self):
        """Return what is not, or not yet, as the log says it should be."""
        self.read()
        return {name: (label, self._expected.get(name)) for name, label in self._wrong.items()}

    def check(self):
        """Fail unless every search has the log's label, by revisions of which each is news."""
        assert self.wrong() == {}
        assert self._told.keys() == self._expected.keys()
        for told in self._told.values():
            # A relay that is killed publishes again, but never two things under one revision.
            assert all(len(values) == 1 for values in told.values()), told
            assert sorted(told) == list(range(len(told))), told
            revisions = [json.loads(next(iter(told[number]))) for number in sorted(told)]
            news = [(one["outcome"], one["used"]) for one in revisions]
            assert all(a != b for a, b in itertools.pairwise(news)), news

    def hasty(self):
        """Return how many searches were settled though there was more to be read about them."""
        first = [json.loads(next(iter(told[0]))) for told in self._told.values() if len(told) > 1]
        return sum(one["outcome"]["type"] == "no_signal" for one in first)

    def published_again(self):
        return self._read - sum(map(len, self._told.values()))
