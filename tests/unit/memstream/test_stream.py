"""The Faust application: what is set beside its settings really is set."""

import pytest

from memstream.messenger import FETCH_MAX_WAIT_MS
from memstream.stream import build_app
from memstream.transport import StreamConsumer, UnhurriedAssignor


@pytest.fixture
def app(tmp_path):
    return build_app("127.0.0.1:1,127.0.0.1:2", "memory.", tmp_path, 4)


async def test_its_consumer_is_ours_with_our_fetch_wait_and_assignor(app):
    consumer = app.consumer
    assert isinstance(consumer, StreamConsumer)
    inner = consumer._thread._create_worker_consumer(app.transport)
    assert inner._fetch_max_wait_ms == FETCH_MAX_WAIT_MS
    assert inner._partition_assignment_strategy == [UnhurriedAssignor]
    assert inner._client._bootstrap_servers == ["127.0.0.1:1", "127.0.0.1:2"]
    assert not consumer.has_left_group()
    await inner.stop()
    consumer._thread.thread_loop.close()


async def test_nothing_of_its_inside_is_served_over_http(app):
    assert app.conf.web_enabled is False


async def test_workers_of_other_prefixes_are_another_group(app, tmp_path):
    assert app.conf.id != build_app("127.0.0.1:1", "test.", tmp_path, 4).conf.id
