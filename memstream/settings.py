"""Settings: one frozen object, read once from the environment and memstream.toml."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from models import InForce

SETTINGS_FILE = Path("memstream.toml")
ENV_PREFIX = "MEMSTREAM_"

_ADDRESS = r"[^\s:/@,]+:\d{1,5}"
_BROKER = re.compile(rf"embedded|local-kafka|kafka://{_ADDRESS}(,{_ADDRESS})*")
_DATABASE = re.compile(r"embedded|embedded-postgres|postgres(ql)?://\S+")
_EMBEDDER = re.compile(r"onnx|none|sentence-transformers:\S+|https?://\S+")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")
_SERVICE = InForce()


class SettingsError(Exception):
    """One or more settings are wrong; the message names each, its value and what is allowed."""


class Settings(BaseSettings):
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
    reward_success: float = Field(1.0, ge=-100, le=100, description="a number from -100 to 100")
    reward_efficiency: float = Field(0.3, ge=-100, le=100, description="a number from -100 to 100")
    data_dir: Path = Field(Path(".memstream"), description="a folder that can be written")
    web_host: str = Field("127.0.0.1", description="the address the console listens on")
    web_port: int = Field(6066, ge=0, le=65_535, description="a port from 1 to 65535, 0 for any")
    log_format: Literal["console", "json"] = Field("console", description="console or json")

    @field_validator("broker", "database", "embedder", "topic_prefix")
    @classmethod
    def _has_known_form(cls, value: str, info: Any) -> str:
        forms = {"broker": _BROKER, "database": _DATABASE, "embedder": _EMBEDDER}
        if not forms.get(info.field_name, _PREFIX).fullmatch(value):
            raise ValueError("not one of the allowed forms")
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
    secret = "key" in name and name != "jwt_keys"
    value = "(hidden)" if secret else repr(problem["input"])
    # A value may look right; only what else there is tells what is wrong with it.
    reason = f"; {problem['msg']}" if problem["type"] in ("jwt_keys", "no_model") else ""
    return f"{setting} is {value}{reason}; allowed: {field.description}"
