"""The container files: no engine to run them here, but what they name exists."""

import re
from pathlib import Path

import yaml

from memstream.settings import ENV_PREFIX, Settings

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_the_parts_are_there_and_depend_on_parts_that_are():
    services = COMPOSE["services"]
    assert {"kafka", "postgres", "memstream", "prometheus", "grafana"} <= set(services)
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert "image" in service or service["build"] == "."


def test_ports_are_published_on_loopback_only():
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_mounted_files_and_volumes_exist():
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (ROOT / source).exists() if source[0] == "." else source in COMPOSE["volumes"]


def test_every_setting_that_is_set_is_a_setting():
    named = set(re.findall(rf"\b{ENV_PREFIX}(\w+)=", DOCKERFILE))
    named |= {
        name.removeprefix(ENV_PREFIX)
        for service in ("migrate", "memstream")
        for name in COMPOSE["services"][service]["environment"]
    }
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_the_image_copies_what_exists_and_every_package_and_does_not_run_as_root():
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    ours = {"memstream", "agents", "retrieval", "learning", "storage", "topics", "models"}
    assert ours | {"client"} <= copied
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    assert copied <= kept
    assert re.search(r"^USER (?!root)", DOCKERFILE, re.MULTILINE)
    assert "HEALTHCHECK" in DOCKERFILE
