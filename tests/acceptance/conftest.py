"""The service on embedded parts, and on real Apache Kafka and PostgreSQL."""

from contextlib import ExitStack

import pytest

from tests.acceptance.service import RUNNING, Client, running
from tests.integration.fixtures_kafka import kafka_server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Tell with a failure how the services were when it happened."""
    report = yield
    if report.failed:
        for service in RUNNING:
            report.sections.append((f"service in {service.data_dir}", service.condition()))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Stop the service that tests share after the last of them: even idle it costs much.

    A broker and a worker that nobody uses take a sixth of a core, for as long as the tests last.
    """
    outcome = yield
    shared = _shared_service(item)
    if shared is not None and nextitem is not None and _shared_service(nextitem) is None:
        shared.finish(item._request)
    return outcome


def _shared_service(item):
    """Return the definition of the service that tests share, None if a test does not use it."""
    definitions = item._fixtureinfo.name2fixturedefs.get("service")
    return definitions[-1] if definitions and definitions[-1].scope == "session" else None


@pytest.fixture(scope="session", params=["embedded", "real"])
def parts(request):
    """The options of `memstream up` that choose its parts."""
    if request.param == "embedded":
        return ()
    return _real(request.getfixturevalue("kafka"))


def _real(broker):
    return ("--broker", f"kafka://{broker}", "--database", "embedded-postgres")


@pytest.fixture(scope="module", params=["embedded", "real"])
def own_parts(request, tmp_path_factory):
    """The same, with a broker to which no other tests have written."""
    if request.param == "embedded":
        yield ()
        return
    jars = request.getfixturevalue("kafka_jars")
    with kafka_server(tmp_path_factory.mktemp("kafka-of-module"), jars) as broker:
        yield _real(broker)


@pytest.fixture(scope="session")
def service(request, tmp_path_factory, parts, models):
    """One for all who need no settings of their own; they have their own tenants or ids.

    It outlives a module, so it has a broker of its own: on the same one, services that tests start
    for themselves would be workers of the same group.
    """
    with ExitStack() as stack:
        if parts:
            jars = request.getfixturevalue("kafka_jars")
            server = kafka_server(tmp_path_factory.mktemp("kafka-of-service"), jars)
            parts = _real(stack.enter_context(server))
        folder = tmp_path_factory.mktemp("service")
        yield stack.enter_context(running(folder, *parts, models=models))


@pytest.fixture
def client(service):
    client = Client(service.runtime["broker"])
    yield client
    client.close()
