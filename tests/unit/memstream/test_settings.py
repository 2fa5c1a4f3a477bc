"""Settings: one frozen object; a wrong value names the setting, the value and what is allowed."""

import pytest
from pydantic import ValidationError

from memstream.broker import broker_of
from memstream.settings import Settings, SettingsError, load_settings
from memstream.worker import open_guard
from models import InForce, SearchRequest, TenantOverrides
from tests.unit.agents.conftest import delivery
from tests.unit.tokens import jwk, write_keys
from topics import Headers, RefusedError


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMSTREAM_{name.upper()}", raising=False)


def test_defaults_are_the_embedded_parts():
    settings = load_settings()
    assert (settings.broker, settings.database, settings.embedder) == (
        "embedded",
        "embedded",
        "onnx",
    )
    assert settings.outcome_window_s == 600
    assert settings.correction_window_s == 86_400
    assert settings.web_port == 6066


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path, monkeypatch):
    (tmp_path / "memstream.toml").write_text('web_port = 1\npartitions = 2\nlog_format = "json"\n')
    monkeypatch.setenv("MEMSTREAM_WEB_PORT", "3")
    monkeypatch.setenv("MEMSTREAM_PARTITIONS", "4")
    settings = load_settings(partitions=5)
    assert (settings.web_port, settings.partitions, settings.log_format) == (3, 5, "json")


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        load_settings().web_port = 1


def test_the_data_folder_is_absolute_so_that_children_agree_on_it(tmp_path):
    assert load_settings().data_dir == tmp_path / ".memstream"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("BROKER", "redis://localhost", "kafka://host:port"),
        ("BROKER", "kafka://localhost", "kafka://host:port"),
        ("DATABASE", "mysql://localhost/x", "postgresql://"),
        ("EMBEDDER", "word2vec", "sentence-transformers:<model>"),
        ("WEB_PORT", "abc", "a port from 1 to 65535"),
        ("WEB_PORT", "70000", "a port from 1 to 65535"),
        ("PARTITIONS", "0", "from 1 to 10000"),
        ("OUTCOME_WINDOW_S", "-1", "above 0"),
        ("LOG_FORMAT", "xml", "console or json"),
        ("TOPIC_PREFIX", "a b", "letters, digits, dots"),
        ("AUTH", "basic", "off (loopback only) or jwt"),
        ("LLM_BASE_URL", "localhost", "URL"),
        ("SUB_CALL_TIMEOUT_S", "0", "above 0"),
        ("REASONING_TIMEOUT_S", "inf", "above 0"),
        ("ROUTING_THRESHOLD", "1.5", "from 0 to 1"),
        ("ROUTING_THRESHOLD", "nan", "from 0 to 1"),
        ("RLM_ENABLED", "perhaps", "true or false"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(monkeypatch, name, value, allowed):
    monkeypatch.setenv(f"MEMSTREAM_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    message = str(caught.value)
    assert f"MEMSTREAM_{name}" in message
    assert repr(value) in message
    assert allowed in message


@pytest.mark.requirement("SE-17")
@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), ("{", "not a JSON object"), ('{"keys": []}', "no usable key")],
)
def test_tokens_cannot_be_asked_for_without_keys_to_check_them(
    tmp_path, monkeypatch, content, reason
):
    monkeypatch.setenv("MEMSTREAM_AUTH", "jwt")
    with pytest.raises(SettingsError, match=r"MEMSTREAM_JWT_KEYS .* is None; it is not set"):
        load_settings()
    if content is not None:
        (tmp_path / "keys.json").write_text(content)
    monkeypatch.setenv("MEMSTREAM_JWT_KEYS", "keys.json")
    with pytest.raises(SettingsError, match=rf"MEMSTREAM_JWT_KEYS .*{reason}") as caught:
        load_settings()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.requirement("SE-17")
def test_tokens_are_checked_with_the_keys_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSTREAM_AUTH", "jwt")
    monkeypatch.setenv("MEMSTREAM_JWT_KEYS", "keys.json")
    settings = load_settings(jwt_keys=write_keys(tmp_path / "keys.json", jwk("ed")))
    assert load_settings().jwt_keys == settings.jwt_keys == tmp_path / "keys.json"
    request = SearchRequest(request_id="r", tenant_id="acme", session_id="s", query="q")
    with pytest.raises(RefusedError):
        open_guard(settings).admit_request(delivery({}), request, Headers())
    assert (
        open_guard(load_settings(auth="off")).admit_request(delivery({}), request, Headers())
        == request
    )


def test_every_wrong_value_is_named_at_once(monkeypatch):
    monkeypatch.setenv("MEMSTREAM_WEB_PORT", "abc")
    monkeypatch.setenv("MEMSTREAM_BROKER", "abc")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert len(str(caught.value).splitlines()) == 2


def test_an_unknown_name_in_the_file_is_an_error(tmp_path):
    (tmp_path / "memstream.toml").write_text("web_prot = 1\n")
    with pytest.raises(SettingsError, match=r"web_prot in memstream\.toml: no such setting"):
        load_settings()


def test_a_file_that_is_not_toml_is_an_error(tmp_path):
    (tmp_path / "memstream.toml").write_text("web_port: 1\n")
    with pytest.raises(SettingsError, match=r"memstream\.toml"):
        load_settings()


@pytest.mark.requirement("RX-7")
def test_a_language_model_needs_a_name(monkeypatch):
    monkeypatch.setenv("MEMSTREAM_LLM_BASE_URL", "http://localhost:8000")
    monkeypatch.setenv("MEMSTREAM_SUB_CALL_MODEL", "")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    (message,) = str(caught.value).splitlines()
    assert "MEMSTREAM_ROOT_MODEL" in message
    assert "neither it nor SUB_CALL_MODEL is set, but LLM_BASE_URL is" in message


@pytest.mark.requirement("RX-7")
@pytest.mark.parametrize(
    ("chosen", "models"),
    [
        ({"root_model": "large"}, ("large", "large")),
        ({"sub_call_model": "small"}, ("small", "small")),
        ({"root_model": "large", "sub_call_model": "small"}, ("large", "small")),
    ],
)
def test_one_model_does_for_both(tmp_path, chosen, models):
    lines = [f'{name} = "{value}"\n' for name, value in chosen.items()]
    (tmp_path / "memstream.toml").write_text("".join(lines))
    settings = load_settings(llm_base_url="http://localhost:8000")
    assert (settings.root_model, settings.sub_call_model) == models
    assert (settings.sub_call_timeout_s, settings.reasoning_timeout_s) == (30, 3)


def test_tenants_are_served_by_the_settings_where_they_have_nothing_of_their_own(monkeypatch):
    assert load_settings().service() == InForce()
    monkeypatch.setenv("MEMSTREAM_ROUTING_THRESHOLD", "0.6")
    monkeypatch.setenv("MEMSTREAM_RLM_ENABLED", "false")
    service = load_settings(reasoning_enabled=False).service()
    changed = {"routing_threshold": 0.6, "rlm_enabled": False, "reasoning_enabled": False}
    assert service == InForce(**changed)
    served = TenantOverrides(rlm_enabled=True).in_force(service)
    assert served == InForce(**changed | {"rlm_enabled": True})


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("MEMSTREAM_LLM_API_KEY", "s3cret")
    assert "s3cret" not in repr(load_settings())


SASL = {"broker": "kafka://h:1", "broker_security_protocol": "sasl_ssl", "broker_username": "me"}


def test_the_broker_may_ask_for_a_name_and_a_password_which_is_never_shown():
    settings = load_settings(**SASL, broker_password="hunter2")
    assert settings.broker_security_protocol == "SASL_SSL"
    broker = broker_of(settings)
    assert broker.options()["sasl_plain_password"] == "hunter2"
    assert "hunter2" not in f"{settings!r} {broker!r} {broker} {broker.credentials()!r}"


def test_without_security_a_broker_is_asked_for_nothing():
    broker = broker_of(load_settings(broker="kafka://h:1,i:2"))
    plain = {"security_protocol": "PLAINTEXT", "ssl_context": None}
    assert broker.options() == {"bootstrap_servers": "h:1,i:2", **plain}
    assert broker.credentials() is None


@pytest.mark.parametrize(
    ("chosen", "name", "reason"),
    [
        (SASL, "BROKER_PASSWORD", "not set"),
        ({**SASL, "broker_password": "x", "broker_username": None}, "BROKER_USERNAME", "not set"),
        ({"broker_username": "me"}, "BROKER_USERNAME", "has no SASL"),
        ({"broker_security_protocol": "SSL"}, "BROKER", "PLAINTEXT only"),
        ({"broker_security_protocol": "TLS"}, "BROKER_SECURITY_PROTOCOL", "SASL_PLAINTEXT"),
        ({"broker_sasl_mechanism": "GSSAPI"}, "BROKER_SASL_MECHANISM", "SCRAM-SHA-256"),
        ({"broker_ca_file": "ca.pem"}, "BROKER_CA_FILE", "has no SSL"),
        ({**SASL, "broker_password": "x", "broker_ca_file": "no.pem"}, "BROKER_CA_FILE", "No such"),
        ({**SASL, "broker_password": "x", "broker_ca_file": "a.pem"}, "BROKER_CA_FILE", "no cert"),
        ({**SASL, "broker_password": "x", "broker_cert_file": "a.pem"}, "BROKER_CERT_FILE", "key"),
        ({**SASL, "broker_password": "x", "broker_key_file": "a.pem"}, "BROKER_CERT_FILE", "not"),
        ({"broker": "kafka://me:hunter2@h:1"}, "BROKER", "kafka://…@h:1"),
        ({"token": "hunter2 "}, "TOKEN", "blanks"),
    ],
)
def test_what_does_not_go_together_is_told_without_secrets(tmp_path, chosen, name, reason):
    (tmp_path / "a.pem").write_text("hello")
    with pytest.raises(SettingsError) as caught:
        load_settings(**chosen)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"MEMSTREAM_{name} (")
    assert reason in line
    assert "hunter2" not in line
