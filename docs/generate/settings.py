"""Settings, other variables of the environment, and what tenants may have their own way."""

import json
from typing import Any, Final

from pydantic_core import PydanticUndefined

from docs.generate.tables import code, table
from memstream.settings import ENV_PREFIX, Settings
from models import InForce

MEANINGS: Final = {
    "broker": "the broker: part of memstream, a real one that it starts, or yours",
    "database": "the store: a file, a real PostgreSQL that `up` starts, or yours",
    "embedder": "what turns texts into vectors; `none` finds by words only",
    "embedder_model": "the model's name for an HTTP embedder",
    "embedder_api_key": "the HTTP embedder's key",
    "llm_base_url": "the language model for reasoning and decomposition; works without",
    "llm_api_key": "its key",
    "root_model": "the model that plans",
    "sub_call_model": "the model that answers sub-queries",
    "sub_call_timeout_s": "how long a sub-query may take",
    "reasoning_timeout_s": "how long reasoning may take",
    "routing_threshold": "from which complexity on queries are taken apart",
    "rlm_enabled": "whether they are at all",
    "reasoning_enabled": "whether complex queries are reasoned about",
    "auth": "whether messages need a token",
    "jwt_keys": "the keys that tokens are signed with",
    "token": "the token of the command line",
    "topic_prefix": "what all topics' names begin with; also names the consumer group",
    "partitions": "how many partitions new topics have",
    "outcome_window_s": "how long after a result signals decide what came of it",
    "correction_window_s": "how long after that late signals still correct it",
    "inbox_retention_s": "how long it is known which events were seen; older messages are refused",
    "reward_success": "the weight of success in a reward",
    "reward_efficiency": "the weight of few tokens in a reward",
    "learning_enabled": "whether workers learn; what was learned serves either way",
    "prior": "what tenants start from before anything was learned",
    "metrics_tenants": "so many tenants have labels of their own in metrics",
    "data_dir": "all state of embedded parts, converted models, `runtime.json`",
    "web_host": "where console, metrics and health are served",
    "web_port": "and on which port",
    "web_token": "what the console asks for",
    "web_names": "host names by which the console may be called",
    "log_format": "log lines for people or for machines",
    "log_level": "from which importance on they are written",
    "broker_security_protocol": "TLS and SASL of the broker",
    "broker_sasl_mechanism": "how to log in",
    "broker_username": "the user",
    "broker_password": "the user's password",
    "broker_ca_file": "whom to trust",
    "broker_cert_file": "our certificate",
    "broker_key_file": "its key",
    "broker_key_password": "the password of the key",
}
ENVIRONMENT: Final = {
    "DB_PASSWORD": "`docker-compose.yml`: the password of its PostgreSQL",
    "SOAK": "tests: run the reliability tests for long (`make soak`)",
    "TEST_PATIENCE_S": "tests: how long to wait for what must happen",
}
"""Variables with our prefix that are no settings."""


def setting_lines() -> list[str]:
    """Return every setting."""
    if set(MEANINGS) != set(Settings.model_fields):
        raise ValueError(f"say in {__name__} what each setting means, and no others")
    rows = [
        (
            code(ENV_PREFIX + name.upper()),
            _default(field.default),
            MEANINGS[name],
            str(field.description),
        )
        for name, field in Settings.model_fields.items()
    ]
    about = (
        "From the environment, or `memstream.toml` in the working folder (in lower case, without "
        "the prefix); what is given on the command line comes first, the environment second."
    )
    head = ("setting", "default", "meaning", "allowed")
    return ["", "## Settings", "", about, *table(head, rows)]


def environment_lines() -> list[str]:
    """Return the other variables."""
    rows = [(code(ENV_PREFIX + name), meaning) for name, meaning in ENVIRONMENT.items()]
    return ["", "Variables that are no settings:", *table(("variable", "meaning"), rows)]


def tenant_lines() -> list[str]:
    """Return what a tenant may have its own way."""
    rows = [
        (code(name), code(_json(field.default)), field.description or "")
        for name, field in InForce.model_fields.items()
    ]
    about = "`memstream tenant set TENANT KEY=VALUE…`; in force a second later."
    lines = ["", "## What a tenant may have its own way", "", about]
    return [*lines, *table(("key", "default", "meaning"), rows)]


def _default(value: Any) -> str:
    if value is None or value == "" or value is PydanticUndefined:
        return "none"
    return code(str(value).lower() if isinstance(value, bool) else value)


def _json(value: Any) -> str:
    dumped = value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
    return json.dumps(dumped)
