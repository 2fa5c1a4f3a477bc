"""How connections to a broker are encrypted, and how it is told who we are."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

_TURNED_AWAY: Final = (
    AuthenticationFailedError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are encrypted, and with what a broker is told who we are."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    """Whom to trust instead of the system's authorities."""
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)

    @property
    def sasl(self) -> bool:
        """Whether a name and a password are sent."""
        return self.protocol.startswith("SASL")

    def context(self) -> ssl.SSLContext | None:
        """Return how certificates are checked, and ours if there is one; None without TLS."""
        if not self.protocol.endswith("SSL"):
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.cert_file is not None:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(self.cert_file, self.key_file, lambda: self.key_password or "")
        return context

    def options(self) -> dict[str, Any]:
        """Return what every client of aiokafka is opened with."""
        chosen: dict[str, Any] = {
            "security_protocol": self.protocol,
            "ssl_context": self.context(),
        }
        if self.sasl:
            chosen |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }
        return chosen


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a broker turns us away, and which fields of ``Security`` to look at."""

    reason: str
    check: tuple[str, ...]


async def refusal(addresses: str, security: Security) -> Refusal | None:
    """Ask each of ``host:port[,host:port…]`` again: clients only tell that they cannot connect."""
    for address in addresses.split(","):
        if found := await _refusal(address, security):
            return found
    return None


async def _refusal(address: str, security: Security) -> Refusal | None:
    host, _, port = address.rpartition(":")
    try:
        connection = await create_conn(
            host, int(port), request_timeout_ms=5000, **security.options()
        )
    except _TURNED_AWAY:
        reason = f"the broker at {address} refuses the user {security.username!r}"
        return Refusal(reason, ("username", "password", "mechanism"))
    except ssl.SSLCertVerificationError as error:
        why = f"shows a certificate that cannot be verified ({error.verify_message})"
        return Refusal(f"the broker at {address} {why}", ("ca_file",))
    except ssl.SSLError as error:
        why = f"does not agree with us on TLS ({error.reason})"
        return Refusal(f"the broker at {address} {why}", ("protocol", "cert_file", "key_file"))
    except (OSError, KafkaError, TimeoutError, ValueError):
        return None
    connection.close()
    return None
