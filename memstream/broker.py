"""The broker: where it is, and how every client of ours proves who it is."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final

from aiokafka.errors import KafkaConnectionError, KafkaError
from memstream_client import Refusal, Security
from memstream_client.security import refusal

from memstream.embedded.process import PartError
from memstream.settings import ENV_PREFIX, Settings

KAFKA_SCHEME: Final = "kafka://"

SETTINGS_PREFIX: Final = f"{ENV_PREFIX}BROKER_"
_SETTINGS: Final = {"protocol": "security_protocol", "mechanism": "sasl_mechanism"}
"""Settings that are called otherwise than the fields they fill."""

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Large enough to read and to dead-letter whatever a broker lets in: they stop at 1 MiB by default,
and ours at 4."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker at ``host:port[,host:port…]``."""

    address: str
    security: Security = field(default_factory=Security)

    def __str__(self) -> str:
        return self.address

    @property
    def is_local(self) -> bool:
        """Whether all of its addresses are of this machine alone."""
        hosts = [one.strip().rpartition(":")[0].strip("[]") for one in self.address.split(",")]
        return all(one == "localhost" or _is_loopback(one) for one in hosts)

    def options(self) -> dict[str, Any]:
        """Return what every client of aiokafka is opened with."""
        return {"bootstrap_servers": self.address, **self.security.options()}

    def credentials(self) -> Any:
        """Return the same as Faust takes it; None for a broker that asks for nothing."""
        import faust  # slow to import, and only workers need it

        secured, context = self.security, self.security.context()
        if secured.sasl:
            return faust.SASLCredentials(
                username=secured.username,
                password=secured.password,
                mechanism=secured.mechanism,
                ssl_context=context,
            )
        return context and faust.SSLCredentials(context)

    async def failure(self, error: KafkaError) -> PartError:
        """Return what to say of a failure: clients only tell that they could not connect."""
        if isinstance(error, KafkaConnectionError):
            refused = await refusal(self.address, self.security)
            if refused is not None:
                return refused_by_broker(refused)
        return PartError(f"the broker at {self} does not answer: {error!r}")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def refused_by_broker(refused: Refusal) -> PartError:
    """Return what to say when a broker turned us away, and which settings to look at."""
    return PartError(f"{refused.reason}: check {settings_to_check(refused)}")


def settings_to_check(refused: Refusal) -> str:
    """Return the settings that may be wrong if a broker turned us away."""
    names = [f"{SETTINGS_PREFIX}{_SETTINGS.get(one, one).upper()}" for one in refused.check]
    return ", ".join(names)


def broker_of(settings: Settings) -> Broker:
    """Return the configured broker, for those who do not start it themselves."""
    if not settings.broker.startswith(KAFKA_SCHEME):
        raise PartError(
            "memstream is not running here: start it with `make up` (or `memstream up`), "
            "or set MEMSTREAM_BROKER to kafka://host:port"
        )
    password, key_password = settings.broker_password, settings.broker_key_password
    security = Security(
        protocol=settings.broker_security_protocol,
        mechanism=settings.broker_sasl_mechanism,
        username=settings.broker_username,
        password=password.get_secret_value() if password else None,
        ca_file=settings.broker_ca_file,
        cert_file=settings.broker_cert_file,
        key_file=settings.broker_key_file,
        key_password=key_password.get_secret_value() if key_password else None,
    )
    return Broker(settings.broker.removeprefix(KAFKA_SCHEME), security)
