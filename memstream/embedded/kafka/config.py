"""What a local Kafka broker is told: its addresses and its server.properties."""

from dataclasses import dataclass

HOST = "127.0.0.1"
"""Loopback only: the local broker has no authentication."""

MESSAGE_MAX_BYTES = 8 * 1024 * 1024
"""Far above every limit of ours, so that what is too large is refused by us, with an answer."""

INTERNAL_PARTITIONS = 4
"""Of the topics that keep offsets and transactions; the default of 50 is 50 logs to recover."""

CLEANER_BUFFER_BYTES = 8 * 1024 * 1024
"""Room for 300,000 keys a compaction; the default of 128 MiB would be half of the heap."""

SESSION_TIMEOUT_MS = 3_000
"""After this silence a killed broker's partitions move, 9 s by default: tests wait for it."""

HEARTBEAT_MS = 500
"""Six heartbeats a session: a pause of the machine rarely loses them all."""


@dataclass(frozen=True)
class Node:
    """One broker, which is a controller too, and the two ports it listens on."""

    id: int
    port: int
    controller_port: int

    @property
    def address(self) -> str:
        """Return where clients reach this broker."""
        return f"{HOST}:{self.port}"


@dataclass(frozen=True)
class Plan:
    """A cluster's identity and its nodes: all that must be the same when it starts again."""

    cluster_id: str
    nodes: tuple[Node, ...]

    @property
    def bootstrap(self) -> str:
        """Return the addresses of all brokers, as clients take them."""
        return ",".join(node.address for node in self.nodes)


def server_properties(plan: Plan, node: Node) -> str:
    """Render the server.properties of one node; its data is ``data`` under where it runs."""
    settings = _identity(plan, node) | _replication(len(plan.nodes)) | _behaviour()
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _identity(plan: Plan, node: Node) -> dict[str, object]:
    # Static voters rather than a quorum in the metadata log: the ports are then no part of the
    # data, and a cluster whose ports were taken meanwhile can start on others.
    voters = ",".join(f"{peer.id}@{HOST}:{peer.controller_port}" for peer in plan.nodes)
    return {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "controller.quorum.voters": voters,
        "listeners": f"BROKER://{node.address},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"BROKER://{node.address}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        # Relative, because properties files are Latin-1 and a home folder may not be.
        "log.dirs": "data",
    }


def _replication(brokers: int) -> dict[str, object]:
    copies = min(brokers, 3)
    in_sync = max(1, copies - 1)
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _behaviour() -> dict[str, object]:
    return {
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": INTERNAL_PARTITIONS,
        "transaction.state.log.num.partitions": INTERNAL_PARTITIONS,
        "share.coordinator.state.topic.num.partitions": INTERNAL_PARTITIONS,
        # Consumers come one at a time here: nobody to wait for.
        "group.initial.rebalance.delay.ms": 0,
        "message.max.bytes": MESSAGE_MAX_BYTES,
        "log.cleaner.dedupe.buffer.size": CLEANER_BUFFER_BYTES,
        "broker.session.timeout.ms": SESSION_TIMEOUT_MS,
        "broker.heartbeat.interval.ms": HEARTBEAT_MS,
    }
