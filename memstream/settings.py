"""Settings: one frozen object, read once from the environment and memstream.toml."""

import re
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memstream.broker_settings import BrokerSettings
from models import InForce

SETTINGS_FILE = Path("memstream.toml")
ENV_PREFIX = "MEMSTREAM_"

_ADDRESS = r"[^\s:/@,]+:\d{1,5}"
_BROKER = re.compile(rf"embedded|local-kafka|kafka://{_ADDRESS}(,{_ADDRESS})*")
_DATABASE = re.compile(r"embedded|embedded-postgres|postgres(ql)?://\S+")
_EMBEDDER = re.compile(r"onnx|none|sentence-transformers:\S+|https?://\S+")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")
_SERVICE = InForce()
_TELLING = ("jwt_keys", "no_model", "broker", "token")
"""Problems whose message says more than what is allowed."""


LEAST_WEB_TOKEN = 16
"""Nothing slows down those who guess, so there must be enough to guess."""


class SettingsError(Exception):
    """One or more settings are wrong; the message names each, its value and what is allowed."""


class Settings(BrokerSettings):
    """What a deployment can choose; every field's description says what is allowed."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        toml_file=SETTINGS_FILE,
        frozen=True,
        extra="forbid",
        validate_default=True,
    )

    broker: str = Field(
        "embedded", description="embedded, local-kafka or kafka://host:port[,host:port…]"
    )
    database: str = Field(
        "embedded",
        description="embedded, embedded-postgres or postgresql://user:password@host/name",
    )
    embedder: str = Field(
        "onnx",
        description="onnx, sentence-transformers:<model>, http://…/v1/embeddings or none",
    )
    embedder_model: str | None = Field(
        None, description="the model name to send to an http:// embedder"
    )
    embedder_api_key: SecretStr | None = Field(
        None, description="the bearer token for an http:// embedder"
    )
    llm_base_url: str | None = Field(
        None, pattern=r"^https?://\S+$", description="the URL of an OpenAI-compatible endpoint"
    )
    llm_api_key: SecretStr | None = Field(None, description="the bearer token for that endpoint")
    root_model: str | None = Field(
        None, description="the model that plans decompositions; else SUB_CALL_MODEL plans them"
    )
    sub_call_model: str | None = Field(
        None, description="the model that answers sub-queries; else ROOT_MODEL answers them"
    )
    sub_call_timeout_s: float = Field(30, gt=0, le=3600, description="seconds, above 0, up to 3600")
    reasoning_timeout_s: float = Field(3, gt=0, le=3600, description="seconds, above 0, up to 3600")
    routing_threshold: float = Field(
        _SERVICE.routing_threshold, ge=0, le=1, description="a number from 0 to 1"
    )
    rlm_enabled: bool = Field(_SERVICE.rlm_enabled, description="true or false")
    reasoning_enabled: bool = Field(_SERVICE.reasoning_enabled, description="true or false")
    auth: Literal["off", "jwt"] = Field("off", description="off (loopback only) or jwt")
    jwt_keys: Path | None = Field(
        None, description="the path of a JWKS file with a usable key; AUTH=jwt needs it"
    )
    token: SecretStr | None = Field(
        None, description="the JWT that the command line sends with what it publishes"
    )
    topic_prefix: str = Field(
        "memory.", description="up to 100 letters, digits, dots, dashes and underscores"
    )
    partitions: int = Field(4, ge=1, le=10_000, description="a whole number from 1 to 10000")
    outcome_window_s: float = Field(
        600, gt=0, le=31_536_000, description="seconds, above 0, up to 31536000"
    )
    correction_window_s: float = Field(
        86_400, ge=0, le=31_536_000, description="seconds, 0 to 31536000"
    )
    inbox_retention_s: float = Field(
        604_800, gt=0, le=31_536_000, description="seconds, above 0, up to 31536000"
    )
    reward_success: float = Field(1.0, ge=-100, le=100, description="a number from -100 to 100")
    reward_efficiency: float = Field(0.3, ge=-100, le=100, description="a number from -100 to 100")
    learning_enabled: bool = Field(
        True, description="true or false, the same for all workers of a service"
    )
    prior: Literal["shipped", "equal"] = Field(
        "shipped",
        description="shipped or equal: what tenants start from, the same for all workers",
    )
    metrics_tenants: int = Field(
        100, ge=0, le=100_000, description="a whole number from 0 to 100000"
    )
    data_dir: Path = Field(Path(".memstream"), description="a folder that can be written")
    web_host: str = Field("127.0.0.1", description="the address the console listens on")
    web_port: int = Field(6066, ge=0, le=65_535, description="a port from 1 to 65535, 0 for any")
    web_token: SecretStr | None = Field(
        None, description="at least 16 characters that the console asks for; none: read-only"
    )
    web_names: str = Field(
        "", description="names, with commas between them, by which the console may be called"
    )
    log_format: Literal["console", "json"] = Field("console", description="console or json")
    log_level: Literal["debug", "info", "warning"] = Field(
        "info", description="debug (shows what tenants ask and remember), info or warning"
    )

    @field_validator("broker", "database", "embedder", "topic_prefix")
    @classmethod
    def _has_known_form(cls, value: str, info: Any) -> str:
        forms = {"broker": _BROKER, "database": _DATABASE, "embedder": _EMBEDDER}
        if not forms.get(info.field_name, _PREFIX).fullmatch(value):
            raise ValueError("not one of the allowed forms")
        return value

    @field_validator("broker")
    @classmethod
    def _is_one_that_can_be_secured(cls, value: str, info: Any) -> str:
        protocol = info.data.get("broker_security_protocol", "PLAINTEXT")
        if protocol != "PLAINTEXT" and not value.startswith("kafka://"):
            reason = f"it speaks PLAINTEXT only, but BROKER_SECURITY_PROTOCOL is {protocol}"
            raise PydanticCustomError("broker", "{reason}", {"reason": reason})
        return value

    @field_validator("token", "web_token")
    @classmethod
    def _can_be_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        if not value:
            return None
        if not re.fullmatch(r"[\x21-\x7e]+", value.get_secret_value()):
            raise PydanticCustomError("token", "it has blanks or other than ASCII characters")
        return value

    @field_validator("web_token")
    @classmethod
    def _is_not_guessed(cls, value: SecretStr | None) -> SecretStr | None:
        if value and len(value.get_secret_value()) < LEAST_WEB_TOKEN:
            raise PydanticCustomError("token", "it is too short")
        return value

    @field_validator("data_dir", "jwt_keys")
    @classmethod
    def _is_absolute(cls, value: Path | None) -> Path | None:
        return value and value.expanduser().absolute()

    @model_validator(mode="before")
    @classmethod
    def _one_model_does_for_both(cls, values: Any) -> Any:
        root, sub_call = values.get("root_model") or None, values.get("sub_call_model") or None
        return {**values, "root_model": root or sub_call, "sub_call_model": sub_call or root}

    @field_validator("root_model")
    @classmethod
    def _is_named_if_needed(cls, value: str | None, info: Any) -> str | None:
        if value is None and info.data.get("llm_base_url"):
            reason = "neither it nor SUB_CALL_MODEL is set, but LLM_BASE_URL is"
            raise PydanticCustomError("no_model", "{reason}", {"reason": reason})
        return value

    @field_validator("jwt_keys")
    @classmethod
    def _has_a_key_if_needed(cls, value: Path | None, info: Any) -> Path | None:
        if info.data.get("auth") != "jwt":
            return value
        if value is None:
            raise PydanticCustomError("jwt_keys", "it is not set")
        from topics.jwks import KeyFileError, read_keys  # PyJWT is slow to import

        try:
            read_keys(value)
        except KeyFileError as error:
            raise PydanticCustomError("jwt_keys", "{reason}", {"reason": str(error)}) from None
        return value

    def service(self) -> InForce:
        """Return what tenants are served by where they have nothing of their own."""
        return InForce(
            routing_threshold=self.routing_threshold,
            rlm_enabled=self.rlm_enabled,
            reasoning_enabled=self.reasoning_enabled,
        )

    def remembered_s(self) -> float:
        """Return how long it is known what was seen: no shorter than a search can be corrected."""
        return max(self.inbox_retention_s, self.outcome_window_s + self.correction_window_s)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line before environment before memstream.toml."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**chosen: Any) -> Settings:
    """Read the settings; ``chosen`` (from the command line) wins where it is not None."""
    try:
        return Settings(**{name: value for name, value in chosen.items() if value is not None})
    except ValidationError as error:
        problems = [_explain(problem) for problem in error.errors()]
        raise SettingsError("\n".join(problems)) from None
    except ValueError as error:  # memstream.toml is not TOML
        raise SettingsError(f"{SETTINGS_FILE}: {error}") from None


def _explain(problem: Any) -> str:
    name = str(problem["loc"][0])
    setting = f"{ENV_PREFIX}{name.upper()} ({name} in {SETTINGS_FILE})"
    field = Settings.model_fields.get(name)
    if field is None:
        allowed = ", ".join(sorted(Settings.model_fields))
        return f"{name} in {SETTINGS_FILE}: no such setting; there are {allowed}"
    secret = SecretStr in get_args(field.annotation) and problem["input"] is not None
    # A URL may hold a password, though ours for brokers must not.
    value = "(hidden)" if secret else re.sub(r"(?<=://)[^@\s]*(?=@)", "…", repr(problem["input"]))
    # A value may look right; only what else there is tells what is wrong with it.
    reason = f"; {problem['msg']}" if problem["type"] in _TELLING else ""
    return f"{setting} is {value}{reason}; allowed: {field.description}"
