"""Writes .build/sbom/: a CycloneDX document for Python, npm and Rust each, and licences.md; fails on the policy.

.venv/bin/python deploy/sbom/sbom.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "docker")]

from packaging.utils import canonicalize_name  # noqa: E402 - the paths come first
from policy import CLASSIFIERS, STATED, Package, faults_of  # noqa: E402 - likewise
from runtime_lock import LEFT_OUT, runtime_names  # noqa: E402 - likewise

OUT = ROOT / ".build" / "sbom"
SHIPPED_CRATES = ("tierscope-agent", "tierscope-simcore")
Document = dict[str, Any]


def python_packages() -> list[Package]:
    """What is installed; what the service needs, embedded servers included, is shipped."""
    target = OUT / "python.cdx.json"
    program = Path(sys.executable).with_name("cyclonedx-py")
    _run([str(program), "environment", str(program.parent.parent), "--output-format", "JSON", "-o", str(target)], ROOT)
    shipped = runtime_names() | LEFT_OUT
    return [
        Package("python", name, part.get("version", ""), licence_of(part), name in shipped)
        for part in _components(json.loads(target.read_text(encoding="utf-8")))
        if (name := canonicalize_name(part["name"])) not in ("tierscope", "tierscope-simcore")
    ]


def npm_packages() -> list[Package]:
    """What the dashboard is built of and with; what is not for development alone is shipped."""
    ask = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
    every = _run(ask, ROOT / "frontend")
    (OUT / "npm.cdx.json").write_text(every, encoding="utf-8")
    shipped = {part["bom-ref"] for part in _components(json.loads(_run([*ask, "--omit", "dev"], ROOT / "frontend")))}
    return [
        Package("npm", part["name"], part.get("version", ""), licence_of(part), part["bom-ref"] in shipped)
        for part in _components(json.loads(every))
    ]


def rust_packages() -> list[Package]:
    """What the lock names; what the agent and the compiled core link is shipped."""
    ask = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    found = json.loads(_run(ask, ROOT / "collector-agent"))
    own = set(found["workspace_members"])
    shipped = _linked(found)
    packages = [
        Package(
            "rust",
            part["name"],
            part["version"],
            part["license"] or STATED.get(part["name"], ""),
            part["id"] in shipped,
        )
        for part in found["packages"]
        if part["id"] not in own
    ]
    (OUT / "rust.cdx.json").write_text(json.dumps(rust_document(packages), indent=2) + "\n", encoding="utf-8")
    return packages


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


def _linked(found: Document) -> set[str]:
    """Ids of packages that are linked into what is shipped: followed over plain dependencies, not those of builds."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    names = {part["id"]: part["name"] for part in found["packages"]}
    waiting = [part for part in found["workspace_members"] if names[part] in SHIPPED_CRATES]
    if not waiting:
        sys.exit(f"none of {', '.join(SHIPPED_CRATES)} is in the workspace")
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
    (OUT / "licences.md").write_text(report(packages), encoding="utf-8")
    faults = sorted(set(faults_of(packages)))
    shipped = sum(package.runtime for package in packages)
    print(f"{len(packages)} packages, {shipped} of them shipped: {OUT.relative_to(ROOT)}/")
    for fault in faults:
        print(f"not allowed: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
