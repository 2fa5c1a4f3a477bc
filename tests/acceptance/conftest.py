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

    It lives as long as the tests do, so it has a broker of its own: on the same one, services that
    tests start for themselves would be workers of the same group.
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
