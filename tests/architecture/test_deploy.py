"""The files of deployment agree with the product: commands, settings, copied paths exist."""

import configparser
import re
from itertools import pairwise
from typing import Any

import pytest
import yaml
from typer.main import get_command

from architecture.tree import ROOT
from tierscope.cli.main import app
from tierscope.core.settings import Settings

ROLES = {"migrate", "web", "api", "worker", "beat"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_the_compose_file_has_every_part_of_an_installation(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"timescaledb", "redis", *ROLES}


@pytest.mark.parametrize("role", sorted(ROLES))
def test_each_role_runs_a_command_that_exists(compose: dict[str, Any], role: str) -> None:
    program, name, *arguments = compose["services"][role]["command"]
    assert program == "tierscope"
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in arguments if word.startswith("--")} <= known


@pytest.mark.parametrize("role", sorted(ROLES))
def test_each_setting_is_one_that_the_product_reads(compose: dict[str, Any], role: str) -> None:
    for name in compose["services"][role]["environment"]:
        model: Any = Settings
        for part in name.removeprefix("TIERSCOPE_").lower().split("__"):
            assert part in model.model_fields, name
            model = model.model_fields[part].annotation


def test_names_that_the_compose_file_allows_are_read_as_names(compose: dict[str, Any]) -> None:
    written = compose["services"]["web"]["environment"]["TIERSCOPE_ALLOWED_HOSTS"]
    default = re.fullmatch(r"\$\{TIERSCOPE_ALLOWED_HOSTS:-(.*)\}", written)
    assert default is not None
    assert Settings(allowed_hosts=default[1], _env_file=None).allowed_hosts == ("localhost",)


def test_no_password_stands_in_the_compose_file(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or name.endswith("_FILE"), name
            assert not re.search(r"://[^/@]*:[^/@]+@", str(value)), name


def test_what_is_waited_for_has_a_health_check_or_ends(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        for name, rule in service.get("depends_on", {}).items():
            if rule["condition"] == "service_healthy":
                assert "healthcheck" in services[name]
            else:
                assert services[name]["restart"] == "no"


def test_every_container_is_bounded_read_only_and_without_rights(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["user"] not in ("root", "0", "0:0"), name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}, name
        assert "healthcheck" in service or name == "migrate", name


@pytest.mark.parametrize("role", sorted(ROLES))
def test_any_setting_reaches_every_role(compose: dict[str, Any], role: str) -> None:
    assert compose["services"][role]["env_file"] == [{"path": "deploy/docker/tierscope.env", "required": False}]


def test_health_checks_name_parts_that_doctor_looks_at(compose: dict[str, Any]) -> None:
    doctor = (ROOT / "backend" / "tierscope" / "usecases" / "operate" / "doctor.py").read_text(encoding="utf-8")
    words = [compose["services"][role]["healthcheck"]["test"] for role in ("worker", "beat")]
    parts = {part for test in words for word, part in pairwise(test) if word == "--part"}
    assert parts == {"workers", "schedule"}
    assert all(f'Check("{part}"' in doctor for part in parts)


def test_only_loopback_ports_are_published(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_agents_unit_is_complete_and_bounded() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(ROOT / "deploy" / "systemd" / "tierscope-agent.service", encoding="utf-8")
    assert unit["Service"]["ExecStart"].split()[1:3] == ["run", "--config"]
    assert {"CPUQuota", "MemoryMax", "NoNewPrivileges"} <= set(unit["Service"])


def test_system_packages_are_listed_once_each_in_order() -> None:
    lines = (ROOT / "system-packages.txt").read_text(encoding="utf-8").splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name) for name in names)


def test_the_make_file_describes_each_of_its_verbs() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    described = set(re.findall(r"^([a-z0-9-]+):.*## ", text, re.MULTILINE))
    assert {"setup", "up", "down", "demo", "test", "lint", "fmt", "e2e", "bench", "gen", "help"} <= described
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == described
