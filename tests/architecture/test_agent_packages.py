"""The agent's packages: what they hold, what they may do, and that they grant no more than the agent needs."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from architecture.tree import ROOT

UNIT = ROOT / "deploy" / "systemd" / "tierscope-agent.service"
MANIFEST = ROOT / "deploy" / "kubernetes" / "agent-daemonset.yaml"
DEB = ROOT / "deploy" / "deb"
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


def test_the_debian_package_holds_the_agent_its_unit_and_its_settings(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    program = tmp_path / "tierscope-agent"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    command = [str(DEB / "build-deb.sh"), "--binary", str(program), "--output", str(tmp_path)]
    package = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    listing = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    files = {line.split()[-1]: line.split()[0:2] for line in listing.splitlines()}
    assert files["./usr/bin/tierscope-agent"] == ["-rwxr-xr-x", "root/root"]
    assert files["./etc/tierscope/agent.toml"] == ["-rw-r-----", "root/root"]
    assert files["./usr/lib/systemd/system/tierscope-agent.service"] == ["-rw-r--r--", "root/root"]
    drop_ins = [name for name in files if name.endswith(".conf")]
    assert len(drop_ins) == len(list((UNIT.parent / "drop-ins").glob("*.conf")))
    target = tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "--raw-extract", package, str(target)], check=True)
    assert (target / "DEBIAN" / "conffiles").read_text(encoding="utf-8") == "/etc/tierscope/agent.toml\n"
    assert {path.name for path in (target / "DEBIAN").iterdir()} == {
        "conffiles",
        "control",
        "postinst",
        "postrm",
        "prerm",
    }
    unit = _unit(target / "usr/lib/systemd/system/tierscope-agent.service")
    assert unit["ExecStart"].startswith("/usr/bin/tierscope-agent run --config /etc/tierscope/agent.toml")
    assert "/usr/local" not in "".join(unit.values())


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_maintainer_scripts_are_sound_and_leave_other_files_alone(name: str) -> None:
    script = DEB / "maintainer" / name
    subprocess.run(["sh", "-n", str(script)], check=True)
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert "set -e" in text
    removed = {word for line in text.splitlines() if "rm -" in line for word in line.split() if word.startswith("/")}
    assert removed <= {"/var/lib/tierscope-agent", "/etc/tierscope/join-token"}


def test_the_packaged_settings_are_toml_that_names_no_service() -> None:
    settings = tomllib.loads((DEB / "agent.toml").read_text(encoding="utf-8"))
    assert "server" not in settings
    assert settings["state_dir"] == "/var/lib/tierscope-agent"
