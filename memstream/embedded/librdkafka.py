"""The built-in test cluster of librdkafka, through the C functions of its rdkafka_mock.h.

confluent-kafka can switch the cluster on by a setting, but then every group waits 3 s for members
before it starts and every topic has 4 partitions; the C functions can change both.
"""

import ctypes
import importlib.util
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memstream.embedded.process import PartError

_PRODUCER = 0
_ERROR_BYTES = 512


def start_cluster(topics: Mapping[str, int]) -> str:
    """Start a cluster of one broker with these topics and partitions; it lives until we exit."""
    library = _library()
    cluster = _cluster(library)
    address: str = library.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    with _kept_awake(address):
        library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
        for name, partitions in topics.items():
            if library.rd_kafka_mock_topic_create(cluster, name.encode(), partitions, 1):
                raise PartError(f"the embedded broker could not create {name} of {partitions}")
    return address


@contextmanager
def _kept_awake(address: str) -> Iterator[None]:
    """Keep connecting to the cluster: its thread looks at calls once a second, or when woken."""
    host, _, port = address.partition(":")
    done = threading.Event()

    def connect() -> None:
        while not done.wait(0.005):
            socket.create_connection((host, int(port))).close()

    waker = threading.Thread(target=connect)
    waker.start()
    try:
        yield
    finally:
        done.set()
        waker.join()


def _cluster(library: ctypes.CDLL) -> int:
    why = ctypes.create_string_buffer(_ERROR_BYTES)
    carrier = library.rd_kafka_new(_PRODUCER, library.rd_kafka_conf_new(), why, _ERROR_BYTES)
    cluster = library.rd_kafka_mock_cluster_new(carrier, 1) if carrier else None
    if not cluster:
        raise PartError(f"librdkafka could not start its cluster: {why.value.decode()}")
    return int(cluster)


def _library() -> ctypes.CDLL:
    # Importing the package first loads the library's own dependencies.
    import confluent_kafka  # noqa: F401 — only the broker's process needs it

    library = ctypes.CDLL(str(_library_path()))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures = {
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_new": (pointer, [number, pointer, text, ctypes.c_size_t]),
        "rd_kafka_mock_cluster_new": (pointer, [pointer, number]),
        "rd_kafka_mock_cluster_bootstraps": (text, [pointer]),
        "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_topic_create": (number, [pointer, text, number, number]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _library_path() -> Path:
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise PartError("confluent-kafka is not installed: run `make setup`")
    package = Path(spec.origin).parent
    # Wheels carry the library beside the package on Linux and inside it on macOS.
    for folder in (package.with_name("confluent_kafka.libs"), package / ".dylibs"):
        for found in folder.glob("librdkafka*"):
            return found
    raise PartError(
        "this build of confluent-kafka carries no librdkafka, so there is no embedded broker: "
        "use --broker local-kafka or --broker kafka://host:port"
    )
