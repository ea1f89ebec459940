"""The agent's packages: what they hold, what they may do, and that they grant no more than the agent needs."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from architecture.tree import ROOT
from tierscope.cli.main import app
from tierscope.core.settings import Settings

UNIT = ROOT / "deploy" / "systemd" / "tierscope-agent.service"
MANIFEST = ROOT / "deploy" / "kubernetes" / "agent-daemonset.yaml"
PACKAGES = ROOT / "deploy" / "packages"
# What may be written to on the host: the agent's own state, and DAMON's settings.
WRITABLE = {"/var/lib/tierscope-agent", "/sys/kernel/mm/damon"}


def _unit(path: Path = UNIT) -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(path, encoding="utf-8")
    return unit["Service"]


@pytest.fixture(scope="module")
def manifest() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def pod(manifest: list[dict[str, Any]]) -> dict[str, Any]:
    [daemon_set] = [document for document in manifest if document["kind"] == "DaemonSet"]
    template = daemon_set["spec"]["template"]
    assert daemon_set["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    spec = template["spec"]
    assert isinstance(spec, dict)
    return spec


def test_the_manifest_grants_nothing_in_kubernetes(manifest: list[dict[str, Any]], pod: dict[str, Any]) -> None:
    assert {document["kind"] for document in manifest} == {"Namespace", "ServiceAccount", "ConfigMap", "DaemonSet"}
    [account] = [document for document in manifest if document["kind"] == "ServiceAccount"]
    assert account["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == account["metadata"]["name"]


def test_the_container_is_confined_to_the_units_capabilities(pod: dict[str, Any]) -> None:
    [container] = pod["containers"]
    context = container["securityContext"]
    assert context["privileged"] is False
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert context["capabilities"]["drop"] == ["ALL"]
    granted = [f"CAP_{name}" for name in context["capabilities"]["add"]]
    assert granted == _unit()["CapabilityBoundingSet"].split()
    assert pod["hostPID"] is True
    assert not pod.get("hostNetwork", False)
    assert not pod.get("hostIPC", False)
    assert "initContainers" not in pod
    assert {"cpu", "memory"} <= set(container["resources"]["limits"])


def test_the_host_is_mounted_read_only_but_for_what_the_agent_writes(pod: dict[str, Any]) -> None:
    [container] = pod["containers"]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume}
    assert "/" not in paths.values()
    assert all(mounts[name]["mountPath"] == path for name, path in paths.items())
    writable = {paths[name] for name in paths if not mounts[name].get("readOnly", False)}
    assert writable == WRITABLE
    given = [volume for volume in pod["volumes"] if "hostPath" not in volume and "emptyDir" not in volume]
    assert all(mounts[volume["name"]]["readOnly"] for volume in given)


def test_the_manifests_settings_are_settings_of_the_agent(manifest: list[dict[str, Any]], pod: dict[str, Any]) -> None:
    [config] = [document for document in manifest if document["kind"] == "ConfigMap"]
    settings = tomllib.loads(config["data"]["agent.toml"])
    [container] = pod["containers"]
    assert container["args"][:3] == ["run", "--config", "/etc/tierscope/agent.toml"]
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert settings["state_dir"] in mounted
    assert str(Path(settings["join_token_file"]).parent) in mounted


def test_the_unit_is_hardened_and_writes_where_it_must() -> None:
    service = _unit()
    strict = [
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectClock",
        "ProtectHostname",
        "ProtectKernelModules",
        "ProtectKernelLogs",
        "RestrictNamespaces",
        "RestrictRealtime",
        "RestrictSUIDSGID",
        "LockPersonality",
        "MemoryDenyWriteExecute",
    ]
    assert [name for name in strict if service.get(name) != "true"] == []
    assert service["ProtectSystem"] == "strict"
    assert "/sys" in service["ReadOnlyPaths"].split()
    assert {path.lstrip("-") for path in service["ReadWritePaths"].split()} | {"/var/lib/tierscope-agent"} == WRITABLE
    assert "AmbientCapabilities" not in service


@pytest.mark.parametrize("path", sorted((UNIT.parent / "drop-ins").glob("*.conf")), ids=lambda path: path.stem)
def test_drop_ins_only_add_what_one_collector_takes(path: Path) -> None:
    assert set(_unit(path)) <= {"CapabilityBoundingSet", "SystemCallFilter", "ReadWritePaths"}
    known = (ROOT / "collector-agent/crates/host/src/collectors.rs").read_text(encoding="utf-8")
    assert f'"{path.stem.replace("-", "_")}"' in known


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    # A program that exists stands for the agent, which is installed later.
    copy.write_text(
        UNIT.read_text(encoding="utf-8").replace("/usr/local/bin/tierscope-agent", "/bin/true"), encoding="utf-8"
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert complaints == []


@pytest.mark.parametrize("name", ["agent", "service"])
def test_packages_hold_what_exists_and_keep_changed_settings(name: str) -> None:
    package = yaml.safe_load((PACKAGES / f"{name}.yaml").read_text(encoding="utf-8"))
    sources = [entry["src"] for entry in package["contents"] if entry.get("type") not in ("symlink", "dir")]
    assert [source for source in sources if "$" not in source and not list(ROOT.glob(source))] == []
    settings = [entry for entry in package["contents"] if entry["dst"].startswith("/etc/tierscope/")]
    assert settings
    for entry in settings:
        assert entry["type"] == "config|noreplace"
        assert entry["file_info"]["mode"] == 0o640
    for packager in ("deb", "rpm"):
        scripts = package["overrides"][packager]["scripts"]
        assert [script for script in scripts.values() if not (ROOT / script).stat().st_mode & 0o100] == []


SCRIPTS = sorted(path for name in ("agent", "service") for path in (PACKAGES / name).iterdir())
# What packages remove beside their own files: what the programs wrote, and compiled Python.
REMOVED = {"/var/lib/tierscope-agent", "/etc/tierscope/join-token", "/var/lib/tierscope-service"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_maintainer_scripts_are_sound_and_leave_other_files_alone(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert "set -e" in text
    lines = [line for line in text.splitlines() if "rm -" in line and "find /usr/lib/tierscope/lib" not in line]
    assert {word for line in lines for word in line.split() if word.startswith("/")} <= REMOVED
    assert "systemctl start" not in text
    assert "systemctl enable" not in text


def test_the_packaged_settings_are_toml_that_names_no_service() -> None:
    settings = tomllib.loads((PACKAGES / "agent.toml").read_text(encoding="utf-8"))
    assert "server" not in settings
    assert settings["state_dir"] == "/var/lib/tierscope-agent"


def test_the_packaged_settings_of_the_service_are_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    path = PACKAGES / "tierscope.toml"
    monkeypatch.setenv("TIERSCOPE_CONFIG", str(path))
    written = tomllib.loads(re.sub(r"^#(?=\w+ = )", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(written) <= set(Settings.model_fields)
    assert Settings().data_dir == Path(written["data_dir"])


SERVICE_UNITS = sorted((UNIT.parent / "service").glob("*.service"))


@pytest.mark.parametrize("path", SERVICE_UNITS, ids=lambda path: path.stem)
def test_units_of_the_service_are_confined_and_run_commands_that_exist(path: Path) -> None:
    service = _unit(path)
    program, command = service["ExecStart"].split()[:2]
    assert program == "/usr/bin/tierscope"
    assert command in get_command(app).commands  # type: ignore[attr-defined]
    assert service["User"] == "tierscope"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["StateDirectory"] == "tierscope-service"
