"""The Helm chart makes the manifests of deploy/kubernetes, and what Kubernetes takes with other values."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from architecture.test_kubernetes import ALL, FOLDER, VERSIONS, Manifest, is_taken, name_of, number_of, pod_of
from architecture.tree import ROOT

CHART = ROOT / "deploy" / "helm" / "tierscope"
HELM = shutil.which("helm") or shutil.which("helm", path=str(ROOT / ".build" / "dist-tools" / "bin"))
AGENT_KINDS = ("ConfigMap", "DaemonSet", "ServiceAccount")
INSTANCE = "app.kubernetes.io/instance"
TESTED = (VERSIONS[0], "1.34.0", VERSIONS[-1])
OTHER_VALUES = {
    "agent": {"apiRights": True},
    "images": {"tag": "1.2.3", "pullSecrets": ["registry"]},
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"example.com/timeout": "60"}},
    "settings": {"TIERSCOPE_LIMITS__LATE_DAYS": "14"},
    "parts": {"worker": {"replicas": 5}},
}


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    if HELM is None:
        pytest.skip("helm is not installed: make dist ARGS=chart compiles it")
    return subprocess.run([HELM, *words], capture_output=True, text=True, check=False)


def rendered(*words: str | Path, version: str = VERSIONS[0], release: str = "tierscope") -> dict[str, Manifest]:
    done = helm("template", release, CHART, "--namespace", "tierscope", "--kube-version", version, *words)
    assert done.returncode == 0, done.stderr
    return {name_of(manifest): manifest for manifest in yaml.safe_load_all(done.stdout) if manifest}


@pytest.fixture
def other_values(tmp_path: Path) -> Path:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(OTHER_VALUES), encoding="utf-8")
    return path


def without_release(found: Any) -> Any:  # noqa: ANN401 - any value of a manifest
    """What a release adds is its label, the hash of its settings, and its number in the name of the Job."""
    if isinstance(found, list):
        return [without_release(item) for item in found]
    if not isinstance(found, dict):
        return found
    kept = {
        key: without_release(value)
        for key, value in found.items()
        if key not in (INSTANCE, "namespace") and not (key == "annotations" and set(value) == {"checksum/settings"})
    }
    return kept | ({"name": "tierscope-migrate"} if kept.get("name") == "tierscope-migrate-1" else {})


def test_default_values_make_the_manifests_of_the_service_and_the_agent() -> None:
    chart = {name_of(manifest): manifest for manifest in without_release([*rendered().values()])}
    # A release goes into a namespace that is there.
    by_hand = {name: without_release(found) for name, found in ALL.items() if found["kind"] != "Namespace"}
    assert chart == by_hand


def test_rights_that_the_agent_is_given_are_those_of_the_component() -> None:
    found = rendered("--set", "agent.apiRights=true")
    rights = yaml.safe_load_all((FOLDER / "agent-api" / "rights.yaml").read_text(encoding="utf-8"))
    given = {name_of(manifest): manifest for manifest in rights}
    assert {name: without_release(found.get(name)) for name in given} == without_release(given)
    assert set(found) - set(rendered()) == set(given)
    assert pod_of(found["DaemonSet/tierscope-agent"])["spec"]["automountServiceAccountToken"] is True


def test_a_release_without_agents_has_none() -> None:
    with_agents, without = rendered(), rendered("--set", "agent.enabled=false")
    assert set(with_agents) - set(without) == {f"{kind}/tierscope-agent" for kind in AGENT_KINDS}


@pytest.mark.parametrize("version", TESTED)
def test_kubernetes_takes_what_other_values_make(version: str, other_values: Path) -> None:
    found = rendered("--values", other_values, version=number_of(version), release="other")
    for manifest in found.values():
        assert is_taken(manifest, version)
    worker = found["Deployment/other-worker"]["spec"]
    assert worker["replicas"] == 5
    [container] = worker["template"]["spec"]["containers"]
    assert container["image"] == "tierscope/service:1.2.3"
    agent = found["DaemonSet/other-agent"]["spec"]["template"]["spec"]
    assert agent["containers"][0]["image"] == "tierscope/agent:1.2.3"
    for pod in (worker["template"]["spec"], agent):
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert found["ConfigMap/other"]["data"]["TIERSCOPE_LIMITS__LATE_DAYS"] == "14"
    [rule] = found["Ingress/other"]["spec"]["rules"]
    named = {path["backend"]["service"]["name"] for path in rule["http"]["paths"]}
    assert {f"Service/{name}" for name in named} <= set(found)


def test_changed_settings_replace_the_pods(other_values: Path) -> None:
    checksums = {
        manifest["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
        for found in (rendered(), rendered("--values", other_values))
        for name, manifest in found.items()
        if name.startswith("Deployment/")
    }
    assert len(checksums) == 2


def test_helm_finds_no_fault_in_the_chart() -> None:
    done = helm("lint", "--strict", CHART, "--kube-version", VERSIONS[0])
    assert done.returncode == 0, done.stdout


def test_an_older_kubernetes_is_refused() -> None:
    done = helm("template", "tierscope", CHART, "--kube-version", "1.29.0")
    assert done.returncode != 0
    assert "requires kubeVersion" in done.stderr
