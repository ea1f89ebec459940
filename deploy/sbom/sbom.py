"""Writes .build/sbom/: a CycloneDX document for Python, npm and Rust each, and licences.md; fails on the policy.

What wheels hold beside their own Python is looked up in their files, and judged too.

.venv/bin/python deploy/sbom/sbom.py
"""

import json
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "docker")]

from inside import Native, installed_in, natives_of, stated_by  # noqa: E402 - likewise
from packaging.utils import canonicalize_name  # noqa: E402 - the paths come first
from policy import (  # noqa: E402 - likewise
    CLASSIFIERS,
    STATED,
    Package,
    faults_of,
    native_faults,
    native_licence,
)
from runtime_lock import EXTRAS, runtime_names  # noqa: E402 - likewise

OUT = ROOT / ".build" / "sbom"
SHIPPED_CRATES = ("tierscope-agent", "tierscope-fleet", "tierscope-simcore")
OWN = ("tierscope", *SHIPPED_CRATES)
Document = dict[str, Any]
_NPM = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]


def python_packages() -> list[Package]:
    """What is installed; what the service needs, embedded servers included, is shipped."""
    target = OUT / "python.cdx.json"
    document = environment_document(Path(sys.executable).parents[1])
    shipped = runtime_names((*EXTRAS, "local"))
    licences = {canonicalize_name(part["name"]): licence_of(part) for part in _components(document)}
    look_inside(document, Path(sysconfig.get_paths()["purelib"]), licences, shipped)
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return [
        Package("python", name, part.get("version", ""), licences[name], name in shipped)
        for part in _components(document)
        if (name := canonicalize_name(part["name"])) not in OWN
    ]


def environment_document(place: Path) -> Document:
    """CycloneDX of what is installed in a virtual environment."""
    program = Path(sys.executable).with_name("cyclonedx-py")
    found: Document = json.loads(_run([str(program), "environment", str(place), "--output-format", "JSON"], ROOT))
    return found


def look_inside(document: Document, site: Path, licences: Mapping[str, str], names: Iterable[str]) -> None:
    """Add to components of Python what their wheels hold; `names` are the packages to look into."""
    components = {canonicalize_name(part["name"]): part for part in _components(document)}
    for distribution in installed_in(site):
        name = canonicalize_name(distribution.metadata["Name"])
        if name not in names or name not in components:
            continue
        held = [native_component(native, name, licences[name]) for native in natives_of(distribution)]
        held += [nested(part, name) for part in stated_by(distribution)]
        if held:
            components[name]["components"] = held


def native_component(native: Native, package: str, licence: str) -> Document:
    """A library or program of a wheel; the version is that of its interface."""
    known = native_licence(native.name, licence)
    return {
        "type": "library" if native.name.startswith("lib") else "application",
        "bom-ref": f"{package}:{native.path}",
        "name": native.name,
        **({"version": native.version} if native.version else {}),
        "hashes": [{"alg": "SHA-256", "content": native.sha256}],
        **({"licenses": [{"expression": known}]} if known else {}),
        "evidence": {"occurrences": [{"location": native.path}]},
    }


def nested(part: Mapping[str, Any], package: str) -> Document:
    """A component as the SBOM of a wheel states it; its reference is made unique by the package's name."""
    kept = ("type", "name", "version", "purl", "hashes", "licenses", "scope")
    reference = part.get("bom-ref", part["name"])
    return {key: part[key] for key in kept if key in part} | {"bom-ref": f"{package}:{reference}"}


def faults_inside(document: Document) -> Iterator[str]:
    """Say of each library that was found in a wheel and may not be shipped, why."""
    for part in _components(document):
        found = [inner for inner in part.get("components", ()) if "evidence" in inner]
        named = [(inner["name"], licence_of(inner)) for inner in found]
        yield from native_faults(canonicalize_name(part["name"]), named)


def npm_packages() -> list[Package]:
    """What the dashboard is built of and with; what is not for development alone is shipped."""
    every = _run(_NPM, ROOT / "frontend")
    (OUT / "npm.cdx.json").write_text(every, encoding="utf-8")
    shipped = {part["bom-ref"] for part in npm_shipped()}
    return [
        Package("npm", part["name"], part.get("version", ""), licence_of(part), part["bom-ref"] in shipped)
        for part in _components(json.loads(every))
    ]


def npm_shipped() -> list[Document]:
    """Components of the dashboard."""
    return _components(json.loads(_run([*_NPM, "--omit", "dev"], ROOT / "frontend")))


def rust_packages() -> list[Package]:
    """What the lock names; what the programs and the compiled core link is shipped."""
    packages = [package for package, _ in crates(SHIPPED_CRATES)]
    (OUT / "rust.cdx.json").write_text(json.dumps(rust_document(packages), indent=2) + "\n", encoding="utf-8")
    return packages


def crates(roots: Iterable[str]) -> list[tuple[Package, Path]]:
    """Crates that the lock names, each with its directory; those that `roots` link are shipped."""
    ask = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    found = json.loads(_run(ask, ROOT / "collector-agent"))
    own = set(found["workspace_members"])
    shipped = _linked(found, tuple(roots))
    return [
        (
            Package(
                "rust",
                part["name"],
                part["version"],
                part["license"] or STATED.get(part["name"], ""),
                part["id"] in shipped,
            ),
            Path(part["manifest_path"]).parent,
        )
        for part in found["packages"]
        if part["id"] not in own
    ]


def rust_document(packages: Iterable[Package]) -> Document:
    """A CycloneDX document of crates."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "components": [
            {
                "type": "library",
                "bom-ref": f"{package.name}@{package.version}",
                "name": package.name,
                "version": package.version,
                "scope": "required" if package.runtime else "excluded",
                "licenses": [{"expression": package.licence.replace("/", " OR ")}],
                "purl": f"pkg:cargo/{package.name}@{package.version}",
            }
            for package in packages
        ],
    }


def _linked(found: Document, roots: tuple[str, ...]) -> set[str]:
    """Ids of packages that are linked into crates of ours: followed over plain dependencies, not those of builds."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    names = {part["id"]: part["name"] for part in found["packages"]}
    waiting = [part for part in found["workspace_members"] if names[part] in roots]
    if not waiting:
        sys.exit(f"none of {', '.join(roots)} is in the workspace")
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]) and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return seen


def licence_of(part: Mapping[str, Any]) -> str:
    """The SPDX expression of a component; several entries all hold. Where it has none: what STATED says."""
    told = []
    for entry in part.get("licenses", ()):
        text = entry.get("expression") or entry["license"].get("id") or entry["license"].get("name", "")
        told.append(CLASSIFIERS.get(text, text))
    known = list(dict.fromkeys(f"({text})" if " OR " in text else text for text in told if text))
    return " AND ".join(known) or STATED.get(canonicalize_name(part["name"]), "")


def report(packages: Iterable[Package]) -> str:
    """Packages by whether they are shipped, ecosystem and name."""
    lines = ["# Licences of all dependencies", ""]
    for runtime, title in ((True, "Shipped"), (False, "Development only")):
        lines += [f"## {title}", "", "| Ecosystem | Package | Version | Licence |", "|---|---|---|---|"]
        chosen = sorted((p.ecosystem, p.name, p.version, p.licence) for p in packages if p.runtime is runtime)
        lines += [f"| {' | '.join(row)} |" for row in dict.fromkeys(chosen)]
        lines.append("")
    return "\n".join(lines)


def _components(document: Document) -> list[Document]:
    found: list[Document] = document.get("components", [])
    return found


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def main() -> int:
    """Write everything; 1 where a licence is not allowed."""
    OUT.mkdir(parents=True, exist_ok=True)
    packages = [*python_packages(), *npm_packages(), *rust_packages()]
    inside = list(faults_inside(json.loads((OUT / "python.cdx.json").read_text(encoding="utf-8"))))
    (OUT / "licences.md").write_text(report(packages), encoding="utf-8")
    faults = sorted({*faults_of(packages), *inside})
    shipped = sum(package.runtime for package in packages)
    print(f"{len(packages)} packages, {shipped} of them shipped: {OUT.relative_to(ROOT)}/")
    for fault in faults:
        print(f"not allowed: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
