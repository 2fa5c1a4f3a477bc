"""Settings of the connection to the broker: encryption, and who we are."""

import ssl
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class BrokerSettings(BaseSettings):
    """How every client of ours connects to a broker that is not started by memstream."""

    broker_security_protocol: Protocol = Field(
        "PLAINTEXT", description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
    )
    broker_sasl_mechanism: Mechanism = Field(
        "PLAIN", description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    )
    broker_username: str | None = Field(
        None, description="the user to log in as, with a SASL_… protocol only"
    )
    broker_password: SecretStr | None = Field(
        None, description="the user's password, with a SASL_… protocol only"
    )
    broker_ca_file: Path | None = Field(
        None,
        description="a PEM file with whom to trust instead of the system's authorities, with "
        "SSL or SASL_SSL only",
    )
    broker_key_file: Path | None = Field(
        None, description="a PEM file with the key of BROKER_CERT_FILE, if it is not in there"
    )
    broker_key_password: SecretStr | None = Field(None, description="the password of that key")
    broker_cert_file: Path | None = Field(
        None, description="a PEM file with our certificate and its key, with SSL or SASL_SSL only"
    )

    @field_validator("broker_security_protocol", "broker_sasl_mechanism", mode="before")
    @classmethod
    def _in_capitals(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("broker_username", "broker_password")
    @classmethod
    def _is_there_if_needed(cls, value: Any, info: Any) -> Any:
        protocol = info.data.get("broker_security_protocol", "")
        if value is None and protocol.startswith("SASL"):
            raise _wrong(f"it is not set, but BROKER_SECURITY_PROTOCOL is {protocol}")
        if value is not None and not protocol.startswith("SASL"):
            raise _wrong("BROKER_SECURITY_PROTOCOL has no SASL, so it would not be used")
        return value

    @field_validator("broker_ca_file", "broker_cert_file", "broker_key_file")
    @classmethod
    def _can_be_read(cls, value: Path | None, info: Any) -> Path | None:
        if value is None:
            return None
        if not info.data.get("broker_security_protocol", "").endswith("SSL"):
            raise _wrong("BROKER_SECURITY_PROTOCOL has no SSL, so it would not be used")
        path = value.expanduser().absolute()
        try:
            path.read_bytes()
        except OSError as error:
            raise _wrong(f"it cannot be read ({error.strerror})") from None
        return path

    @field_validator("broker_ca_file")
    @classmethod
    def _has_certificates(cls, value: Path | None) -> Path | None:
        try:
            if value is not None:
                ssl.create_default_context(cafile=value)
        except ssl.SSLError:
            raise _wrong("it has no certificate") from None
        return value

    @field_validator("broker_cert_file")
    @classmethod
    def _goes_with_its_key(cls, value: Path | None, info: Any) -> Path | None:
        if value is None:
            if info.data.get("broker_key_file") is not None:
                raise _wrong("it is not set, but BROKER_KEY_FILE is")
            return None
        password = info.data.get("broker_key_password")
        # Without a password of ours OpenSSL would ask for one on the terminal.
        spoken = password.get_secret_value() if password else ""
        try:
            ssl.create_default_context().load_cert_chain(
                value, info.data.get("broker_key_file"), lambda: spoken
            )
        except (ssl.SSLError, ValueError):
            raise _wrong("it and its key cannot be used together") from None
        return value


def _wrong(reason: str) -> PydanticCustomError:
    return PydanticCustomError("broker", "{reason}", {"reason": reason})
