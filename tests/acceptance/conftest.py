"""The service on embedded parts, and on real Apache Kafka and PostgreSQL."""

import pytest

from tests.acceptance.service import Client, running


@pytest.fixture(scope="module", params=["embedded", "real"])
def parts(request):
    """The options of `memstream up` that choose its parts."""
    if request.param == "embedded":
        return ()
    broker = request.getfixturevalue("kafka")
    return ("--broker", f"kafka://{broker}", "--database", "embedded-postgres")


@pytest.fixture(scope="module")
def service(tmp_path_factory, parts, models):
    with running(tmp_path_factory.mktemp("service"), *parts, models=models) as service:
        yield service


@pytest.fixture
def client(service):
    client = Client(service.runtime["broker"])
    yield client
    client.close()
