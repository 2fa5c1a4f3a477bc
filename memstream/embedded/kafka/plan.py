"""Which ports a local Kafka uses: free ones at its first start, and the same ever after."""

import base64
import json
import random
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from memstream.embedded.kafka.config import HOST, Node, Plan
from memstream.embedded.process import PartError

PORTS = range(20_000, 30_000)
"""Below the ports the kernel gives to outgoing connections (from 32,768 on Linux), so that no
client can sit on a broker's port while that broker is down."""


def make_plan(folder: Path, brokers: int, port: int | None) -> Plan:
    """Return the plan kept in ``folder``, or a new one; what is taken meanwhile is replaced."""
    kept = _read(folder / "cluster.json")
    if kept is not None and len(kept.nodes) != brokers:
        raise PartError(f"{folder} holds a Kafka of {len(kept.nodes)} brokers, not of {brokers}")
    plan = Plan(
        cluster_id=kept.cluster_id if kept else _new_cluster_id(),
        nodes=_nodes(kept.nodes if kept else (), brokers, port),
    )
    _write(folder / "cluster.json", plan)
    return plan


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` now."""
    with socket.socket() as probe:
        # As the JVM does it: connections of a stopped broker still in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _nodes(kept: tuple[Node, ...], brokers: int, port: int | None) -> tuple[Node, ...]:
    asked = None if port is None else _asked(port, brokers)
    known = {p for node in kept for p in (node.port, node.controller_port)}
    fresh = _free_ports(avoiding=known | set(asked or ()))
    ports = asked or _kept_or_fresh([node.port for node in kept], brokers, fresh)
    controllers = _kept_or_fresh([node.controller_port for node in kept], brokers, fresh)
    return tuple(Node(i + 1, ports[i], controllers[i]) for i in range(brokers))


def _asked(port: int, brokers: int) -> list[int]:
    ports = list(range(port, port + brokers))
    for taken in (p for p in ports if not is_free(p)):
        raise PartError(f"port {taken} is taken: stop what listens there, or choose another --port")
    return ports


def _kept_or_fresh(kept: Iterable[int], brokers: int, fresh: Iterator[int]) -> list[int]:
    ports = [port if is_free(port) else next(fresh) for port in kept]
    return ports or [next(fresh) for _ in range(brokers)]


def _free_ports(avoiding: set[int]) -> Iterator[int]:
    candidates = random.sample(PORTS, len(PORTS))
    return (port for port in candidates if port not in avoiding and is_free(port))


def _new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _read(path: Path) -> Plan | None:
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    return Plan(kept["cluster_id"], tuple(Node(**node) for node in kept["nodes"]))


def _write(path: Path, plan: Plan) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(plan), indent=2))
    draft.replace(path)
