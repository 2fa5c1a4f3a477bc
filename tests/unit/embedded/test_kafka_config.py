"""What a local Kafka is told, and which ports it takes."""

import socket

import pytest

from memstream.embedded.kafka import jars as kafka_jars
from memstream.embedded.kafka.config import HOST, Node, Plan, server_properties
from memstream.embedded.kafka.plan import PORTS, is_free, make_plan
from memstream.embedded.process import PartError

ONE = Plan("id", (Node(1, 19092, 19192),))
THREE = Plan("id", tuple(Node(i, 19091 + i, 19191 + i) for i in (1, 2, 3)))


@pytest.fixture
def listening():
    """A port that is taken."""
    with socket.socket() as server:
        port = next(port for port in PORTS if is_free(port))
        server.bind((HOST, port))
        server.listen()
        yield port


def properties(plan, node):
    lines = server_properties(plan, node).splitlines()
    return dict(line.split("=", 1) for line in lines)


def ports(plan):
    return [port for node in plan.nodes for port in (node.port, node.controller_port)]


def test_a_node_listens_on_loopback_only():
    told = properties(ONE, ONE.nodes[0])
    assert told["listeners"] == "BROKER://127.0.0.1:19092,CONTROLLER://127.0.0.1:19192"
    assert told["advertised.listeners"] == "BROKER://127.0.0.1:19092"


def test_a_single_node_copies_nothing():
    told = properties(ONE, ONE.nodes[0])
    copies = {value for name, value in told.items() if name.endswith("replication.factor")}
    assert copies == {"1"}
    assert told["min.insync.replicas"] == told["transaction.state.log.min.isr"] == "1"


def test_three_nodes_keep_three_copies_and_need_two():
    told = properties(THREE, THREE.nodes[2])
    copies = {value for name, value in told.items() if name.endswith("replication.factor")}
    assert copies == {"3"}
    assert told["min.insync.replicas"] == told["transaction.state.log.min.isr"] == "2"


def test_every_node_votes():
    told = properties(THREE, THREE.nodes[1])
    assert told["node.id"] == "2"
    voters = "1@127.0.0.1:19192,2@127.0.0.1:19193,3@127.0.0.1:19194"
    assert told["controller.quorum.voters"] == voters


def test_topics_are_never_made_by_accident_and_large_messages_arrive():
    told = properties(ONE, ONE.nodes[0])
    assert told["auto.create.topics.enable"] == "false"
    assert int(told["message.max.bytes"]) >= 4 * 1024 * 1024


def test_bootstrap_names_every_broker():
    assert THREE.bootstrap == "127.0.0.1:19092,127.0.0.1:19093,127.0.0.1:19094"


def test_a_plan_is_kept(tmp_path):
    first = make_plan(tmp_path, 3, None)
    assert make_plan(tmp_path, 3, None) == first
    assert len(set(ports(first))) == 6
    assert all(port in PORTS for port in ports(first))


def test_a_cluster_id_is_one_kafka_accepts(tmp_path):
    assert len(make_plan(tmp_path, 1, None).cluster_id) == 22  # 16 bytes in base64


def test_a_kept_port_that_is_taken_is_replaced(tmp_path, listening):
    (tmp_path / "cluster.json").write_text(
        f'{{"cluster_id": "id", "nodes": [{{"id": 1, "port": {listening}, "controller_port": 1}}]}}'
    )
    plan = make_plan(tmp_path, 1, None)
    assert plan.cluster_id == "id"
    assert listening not in ports(plan)


def test_a_chosen_port_is_used_and_kept(tmp_path):
    free = next(port for port in PORTS if is_free(port))
    assert make_plan(tmp_path, 1, free).bootstrap == f"127.0.0.1:{free}"
    assert make_plan(tmp_path, 1, None).bootstrap == f"127.0.0.1:{free}"


def test_a_chosen_port_that_is_taken_is_an_error(tmp_path, listening):
    with pytest.raises(PartError, match=f"port {listening} is taken"):
        make_plan(tmp_path, 1, listening)


def test_another_number_of_brokers_is_an_error(tmp_path):
    make_plan(tmp_path, 3, None)
    with pytest.raises(PartError, match="holds a Kafka of 3 brokers, not of 1"):
        make_plan(tmp_path, 1, None)


async def test_jars_are_looked_for_in_a_folder_named_after_the_pom(tmp_path, monkeypatch):
    monkeypatch.setattr(kafka_jars, "RECIPE", tmp_path)
    (tmp_path / "pom.xml").write_text("one")
    (tmp_path / "7692c3ad3540bb80").mkdir()  # sha256 of "one"
    assert await kafka_jars.resolve(tmp_path, print) == tmp_path / "7692c3ad3540bb80"
    (tmp_path / "pom.xml").write_text("two")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PartError, match=r"needs mvn.*apt-get install maven"):
        await kafka_jars.resolve(tmp_path, print)


async def test_without_a_source_checkout_there_is_no_kafka(tmp_path, monkeypatch):
    monkeypatch.setattr(kafka_jars, "RECIPE", tmp_path)
    with pytest.raises(PartError, match="needs a source checkout"):
        await kafka_jars.resolve(tmp_path, print)
