"""The manifests are what Kubernetes takes, and every container of them is bounded, probed and without rights."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from typer.main import get_command

from architecture.tree import ROOT
from tierscope.cli.main import app
from tierscope.core.settings import Settings

FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
VERSIONS = ("1.30.0", "newest")
"""The oldest that is meant (it brought appArmorProfile), and the newest whose schema the package has."""
Manifest = dict[str, Any]


def number_of(version: str) -> str:
    # Loaded where it is needed: that takes long, and every process of a run imports this module to collect its tests.
    import kubernetes_validate  # noqa: PLC0415

    return str(kubernetes_validate.latest_version()) if version == "newest" else version


def is_taken(manifest: Manifest, version: str) -> bool:
    """Whether a version of Kubernetes takes it; says what is wrong where it does not."""
    import kubernetes_validate  # noqa: PLC0415

    try:
        kubernetes_validate.validate(manifest, number_of(version), strict=True)
    except kubernetes_validate.ValidationError as error:
        print(error)
        return False
    return True


def manifests() -> Iterator[Manifest]:
    for name in KUSTOMIZATION["resources"]:
        yield from yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))


def name_of(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


ALL = {name_of(manifest): manifest for manifest in manifests()}
WORKLOADS = {name: found for name, found in ALL.items() if found["kind"] in ("Deployment", "Job", "DaemonSet")}
SERVICE = {name: found for name, found in WORKLOADS.items() if found["kind"] != "DaemonSet"}


def pod_of(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["template"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sorted(ALL))
def test_kubernetes_takes_every_manifest(name: str, version: str) -> None:
    assert is_taken(ALL[name], version)


def test_the_exporter_has_no_rights_and_is_scraped_where_it_listens() -> None:
    found = list(yaml.safe_load_all((FOLDER / "exporter-daemonset.yaml").read_text(encoding="utf-8")))
    assert all(is_taken(manifest, version) for manifest in found for version in VERSIONS)
    template = pod_of(found[-1])
    (container,) = template["spec"]["containers"]
    security = container["securityContext"]
    assert security["runAsNonRoot"]
    assert security["readOnlyRootFilesystem"]
    assert not security["privileged"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert "hostPID" not in template["spec"]
    assert not template["spec"]["automountServiceAccountToken"]
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert {"cpu", "memory"} <= container["resources"]["limits"].keys()
    port = template["metadata"]["annotations"]["prometheus.io/port"]
    assert container["args"][:3] == ["exporter", "--listen", f"0.0.0.0:{port}"]
    assert [int(port)] == [open_port["containerPort"] for open_port in container["ports"]]
    agent = pod_of(ALL["DaemonSet/tierscope-agent"])["spec"]["containers"][0]
    assert container["image"] == agent["image"]


def test_the_component_lets_the_agent_read_pods_and_nodes_and_nothing_else() -> None:
    component = yaml.safe_load((FOLDER / "agent-api" / "kustomization.yaml").read_text(encoding="utf-8"))
    assert component["kind"] == "Component"
    (file,) = component["resources"]
    role, binding = yaml.safe_load_all((FOLDER / "agent-api" / file).read_text(encoding="utf-8"))
    assert all(is_taken(manifest, version) for manifest in (role, binding) for version in VERSIONS)
    allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert allowed == {("pods", "list"), ("nodes", "get")}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    account = ALL["ServiceAccount/tierscope-agent"]["metadata"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    ]
    (patch,) = component["patches"]
    assert f"{patch['target']['kind']}/{patch['target']['name']}" in WORKLOADS
    (operation,) = yaml.safe_load(patch["patch"])
    target: Any = ALL["DaemonSet/tierscope-agent"]
    *path, last = operation["path"].strip("/").split("/")
    for part in path:
        target = target[part]
    assert (target[last], operation["value"]) == (False, True)


def test_a_misspelt_field_is_found() -> None:
    broken = yaml.safe_load(yaml.safe_dump(ALL["Deployment/tierscope-api"]))
    pod_of(broken)["spec"]["containers"][0]["readinesProbe"] = {}
    assert not is_taken(broken, VERSIONS[-1])


def test_every_part_of_the_service_is_there() -> None:
    assert set(WORKLOADS) == {
        "DaemonSet/tierscope-agent",
        "Job/tierscope-migrate",
        *(f"Deployment/tierscope-{role}" for role in ("api", "beat", "web", "worker")),
    }
    assert ALL["Deployment/tierscope-beat"]["spec"]["replicas"] == 1
    assert ALL["Deployment/tierscope-beat"]["spec"]["strategy"]["type"] == "Recreate"


@pytest.mark.parametrize("name", sorted(SERVICE))
def test_containers_of_the_service_have_bounds_and_no_rights(name: str) -> None:
    pod = pod_of(SERVICE[name])["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not any("hostPath" in volume for volume in pod["volumes"])
    for container in pod["containers"]:
        security = container["securityContext"]
        assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]["limits"]) == set(container["resources"]["requests"]) == {"cpu", "memory"}


@pytest.mark.parametrize("name", sorted(name for name in SERVICE if name.startswith("Deployment/")))
def test_every_deployment_is_probed(name: str) -> None:
    for container in pod_of(SERVICE[name])["spec"]["containers"]:
        assert {"livenessProbe", "readinessProbe"} <= set(container)


@pytest.mark.parametrize("name", sorted(SERVICE))
def test_containers_run_commands_and_settings_that_exist(name: str) -> None:
    (container,) = pod_of(SERVICE[name])["spec"]["containers"]
    probes = [container[probe]["exec"]["command"] for probe in ("livenessProbe",) if "exec" in container.get(probe, {})]
    for program, verb, *arguments in ([*container["command"], *container["args"]], *probes):
        assert program == "tierscope"
        command = get_command(app).commands[verb]  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in arguments if word.startswith("--")} <= known
    settings = [*ALL["ConfigMap/tierscope"]["data"], *(item["name"] for item in container["env"])]
    assert [setting for setting in settings if not _exists(setting)] == []


def _exists(setting: str) -> bool:
    """Whether an environment variable is a setting; `TIERSCOPE_A__B` is `b` of the settings' group `a`."""
    name, _, inner = setting.removeprefix("TIERSCOPE_").lower().partition("__")
    group = Settings.model_fields[name].annotation if name in Settings.model_fields else None
    if not inner:
        return group is not None
    return isinstance(group, type) and issubclass(group, BaseModel) and inner in group.model_fields


def test_secrets_are_referred_to_and_stand_nowhere() -> None:
    assert not any(manifest["kind"] == "Secret" for manifest in ALL.values())
    for setting, value in ALL["ConfigMap/tierscope"]["data"].items():
        assert not re.search(r"://[^/@]*:[^/@]+@", value), setting
        assert "PASSWORD" not in setting or setting.endswith("_FILE")


def test_selectors_meet_the_pods_that_they_mean() -> None:
    labels = {name: pod_of(found)["metadata"]["labels"] for name, found in WORKLOADS.items()}
    for name, manifest in ALL.items():
        spec = manifest.get("spec", {})
        selector = spec.get("selector", {})
        if manifest["kind"] in ("Deployment", "DaemonSet"):
            assert selector["matchLabels"].items() <= labels[name].items()
        elif manifest["kind"] in ("Service", "PodDisruptionBudget"):
            wanted = selector.get("matchLabels", selector)
            met = [pod for pod, found in labels.items() if wanted.items() <= found.items()]
            assert met == [f"Deployment/{manifest['metadata']['name']}"]


@pytest.fixture(scope="module")
def kustomize() -> Callable[[Path], dict[str, Manifest]]:
    """What kustomize makes of a directory."""
    program = shutil.which("kustomize") or shutil.which("kustomize", path=str(ROOT / ".build" / "dist-tools" / "bin"))
    if program is None:
        pytest.skip("kustomize is not installed: make dist ARGS=chart compiles it")

    def build(folder: Path) -> dict[str, Manifest]:
        done = subprocess.run([program, "build", folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return {name_of(manifest): manifest for manifest in yaml.safe_load_all(done.stdout)}

    return build


def test_kustomize_makes_every_manifest(kustomize: Callable[[Path], dict[str, Manifest]]) -> None:
    assert kustomize(FOLDER) == ALL


def test_the_overlay_of_the_page_sets_images_settings_and_rights(
    kustomize: Callable[[Path], dict[str, Manifest]], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "howto" / "kubernetes.md").read_text(encoding="utf-8")
    overlay, component = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    written = (overlay + component).replace("../tierscope/deploy/kubernetes", os.path.relpath(FOLDER, tmp_path))
    (tmp_path / "kustomization.yaml").write_text(written, encoding="utf-8")
    found = kustomize(tmp_path)
    assert set(found) - set(ALL) == {"ClusterRole/tierscope-agent", "ClusterRoleBinding/tierscope-agent"}
    for name in WORKLOADS:
        pod = pod_of(found[name])["spec"]
        assert all(container["image"].startswith("registry.example/tierscope/") for container in pod["containers"])
        assert pod["automountServiceAccountToken"] is (name == "DaemonSet/tierscope-agent")
    settings = found["ConfigMap/tierscope"]["data"]
    changed = {name for name, value in ALL["ConfigMap/tierscope"]["data"].items() if settings[name] != value}
    assert changed == {"TIERSCOPE_DATABASE_URL", "TIERSCOPE_ALLOWED_HOSTS"}
