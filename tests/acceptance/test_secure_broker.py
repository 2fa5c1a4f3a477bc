"""From outside, on a real Kafka with TLS and SASL: every client of ours says who it is."""

import asyncio
import json

import pytest

from memstream.broker import Broker, Security, broker_of
from memstream.calling import calling
from memstream.embedded.process import PartError
from memstream.kept import kept
from memstream.labelled import labelled
from memstream.settings import Settings
from memstream.topology import ensure_topics, topic_states
from tests.acceptance.service import Service, running, wait_for
from tests.examined import examined
from tests.integration.secure_kafka import MECHANISMS, PASSWORD, USER, secure_kafka
from topics import TopicNames

WRONG = "not the password"


@pytest.fixture(scope="module")
def secured(tmp_path_factory, kafka_jars):
    """The folder of the certificates, and the address of each listener."""
    with asyncio.Runner() as runner:
        kafka = secure_kafka(tmp_path_factory.mktemp("secure"), kafka_jars)
        place = runner.run(kafka.__aenter__())
        yield place
        runner.run(kafka.__aexit__(None, None, None))


def chosen(folder, addresses, protocol, mechanism="PLAIN", password=PASSWORD):
    settings = {"broker": f"kafka://{addresses[protocol]}", "broker_security_protocol": protocol}
    if protocol.startswith("SASL"):
        settings |= {"broker_sasl_mechanism": mechanism, "broker_username": USER}
        settings |= {"broker_password": password}
    if protocol.endswith("SSL"):
        settings |= {"broker_ca_file": folder / "ca.pem"}
    if protocol == "SSL":
        settings |= {"broker_cert_file": folder / "client.pem"}
        settings |= {"broker_key_file": folder / "client.key"}
    return settings


def complaint(service, *arguments):
    ended = service.command(*arguments, check=False)
    assert ended.returncode == 1
    assert PASSWORD not in ended.stderr
    assert WRONG not in ended.stderr
    return ended.stderr.strip().splitlines()


def test_the_whole_service_works_with_tls_and_a_password(secured, tmp_path):
    settings = chosen(*secured, "SASL_SSL", "SCRAM-SHA-512")
    with running(tmp_path, embedder="none", outcome_window_s=1, **settings) as service:
        service.command("remember", "her cat is called Momo", "--tenant", "acme", "--id", "momo")

        def found():
            result = json.loads(service.command("search", "cat", "-t", "acme", "--json").stdout)
            return result["results"] and result

        result = wait_for(found, "the memory")
        # Once its window has ended: how far the input was read is asked of the broker, too.
        wait_for(lambda: service.metric('memstream_labels_total{revision="first"}'), "a label")
        service.command("use", result["request_id"], "momo", "--tenant", "acme")
        corrected = 'memstream_labels_total{revision="corrected"}'
        wait_for(lambda: service.metric(corrected), "its correction")
        lines = service.command("trajectories", "--json").stdout.splitlines()
        assert json.loads(lines[-1])["outcome"]["type"] == "result_used"
        assert "ok    topics: all" in service.command("doctor").stdout
        assert PASSWORD not in service.output()
        assert PASSWORD not in (tmp_path / "runtime.json").read_text()


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SSL", "PLAIN"), *(("SASL_PLAINTEXT", mechanism) for mechanism in MECHANISMS)],
)
async def test_every_protocol_and_mechanism_is_spoken(secured, protocol, mechanism):
    broker = broker_of(Settings(**chosen(*secured, protocol, mechanism)))
    await ensure_topics(broker, TopicNames("spoken."), 1)
    assert all(state.partitions for state in await topic_states(broker, TopicNames("spoken.")))
    assert PASSWORD not in repr(broker)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_told(secured, mechanism):
    settings = Settings(**chosen(*secured, "SASL_SSL", mechanism, WRONG))
    broker, names = broker_of(settings), TopicNames()
    asking = (topic_states(broker, names), ensure_topics(broker, names, 1))
    for ask in (*asking, anext(labelled(broker, names)), anext(kept(broker, names))):
        with pytest.raises(PartError, match=f"refuses the user '{USER}'"):
            await ask
    with pytest.raises(PartError, match=f"refuses the user '{USER}'"):
        async with calling(settings, "acme"):
            pytest.fail("connected with a wrong password")


def test_a_wrong_password_is_told_in_one_line(secured, tmp_path):
    settings = chosen(*secured, "SASL_SSL", "SCRAM-SHA-256", WRONG)
    service = Service(tmp_path, embedder="none", web_port=0, **settings)
    (told,) = complaint(service, "search", "cat", "--tenant", "acme")
    assert f"refuses the user '{USER}'" in told
    assert f"refuses the user '{USER}'" in complaint(service, "worker")[-1]


def test_a_certificate_that_cannot_be_verified_is_told_in_one_line(secured, tmp_path):
    settings = chosen(*secured, "SASL_SSL")
    del settings["broker_ca_file"]
    (told,) = complaint(Service(tmp_path, **settings), "topics")
    assert "certificate that cannot be verified" in told
    assert "MEMSTREAM_BROKER_CA_FILE" in told


async def test_without_a_client_certificate_one_is_turned_away(secured):
    folder, addresses = secured
    broker = Broker(addresses["SSL"], Security("SSL", ca_file=folder / "ca.pem"))
    with pytest.raises(PartError, match=addresses["SSL"]):
        await topic_states(broker, TopicNames())


async def test_the_doctor_tells_which_protocol_a_listener_speaks(secured, monkeypatch, tmp_path):
    _, addresses = secured
    for protocol, address in addresses.items():
        report = await examined(monkeypatch, tmp_path, broker=f"kafka://{address}")
        assert report.failed == ["broker"]
        told = report.of("broker")
        theirs = "SSL or SASL_SSL" if protocol == "SSL" else protocol
        assert f"{address} speaks {theirs}, not PLAINTEXT" in told
        if protocol.startswith("SASL"):
            assert "MEMSTREAM_BROKER_USERNAME" in told
            assert "SCRAM-SHA-512" in told


async def test_the_doctor_tells_of_passwords_and_certificates(secured, monkeypatch, tmp_path):
    folder, addresses = secured
    settings = chosen(*secured, "SASL_SSL", "SCRAM-SHA-512", WRONG)
    report = await examined(monkeypatch, tmp_path, **settings)
    assert report.failed == ["broker"]
    assert f"refuses the user '{USER}'" in report.of("broker")
    assert "MEMSTREAM_BROKER_PASSWORD" in report.of("broker")
    assert WRONG not in "".join(report.lines)
    ours = {"broker": f"kafka://{addresses['SSL']}", "broker_security_protocol": "SSL"}
    report = await examined(monkeypatch, tmp_path, **ours)
    assert "certificate that cannot be verified" in report.of("broker")
    report = await examined(monkeypatch, tmp_path, broker_ca_file=folder / "ca.pem", **ours)
    assert report.failed == ["broker"]
    assert "CERT_FILE" in report.of("broker")
