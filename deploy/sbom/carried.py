"""What a package carries of others: their licence texts in one file, and a CycloneDX document that looks inside wheels.

    .venv/bin/python deploy/sbom/carried.py service SITE OUT
    .venv/bin/python deploy/sbom/carried.py agent OUT

SITE is the directory of Python packages that is packed; OUT takes `third-party-licences.txt` and `sbom.cdx.json`.
"""

import json
import os
import sys
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from inside import installed_in, is_licence, licence_files, read_text  # noqa: E402 - likewise
from packaging.utils import canonicalize_name  # noqa: E402 - the path comes first
from policy import Package  # noqa: E402 - likewise
from sbom import (  # noqa: E402 - likewise
    OWN,
    ROOT,
    Document,
    crates,
    faults_inside,
    licence_of,
    look_inside,
    nested,
    npm_shipped,
    rust_document,
)

Notice = tuple[str, str]
"""A package with its version and licence, and one of the texts that it carries."""


def service(site: Path) -> tuple[Document, list[Notice]]:
    """Python packages with what is in their wheels, the dashboard's packages and the crates of what is compiled."""
    found = installed_in(site)
    parts = [python_component(distribution) for distribution in found]
    licences = {canonicalize_name(part["name"]): licence_of(part) for part in parts}
    document = rust_document([]) | {"components": parts}
    look_inside(document, site, licences, licences)
    dashboard = npm_shipped()
    for part in parts:
        if part["name"] == "tierscope":
            part.setdefault("components", []).extend(nested(inner, "tierscope") for inner in dashboard)
    compiled = _crate_notices("tierscope-fleet", "tierscope-simcore")
    notices = [*_python_notices(found, licences), *_npm_notices(dashboard), *compiled]
    return document, notices


def agent() -> tuple[Document, list[Notice]]:
    """The crates that the agent links."""
    return rust_document(_linked("tierscope-agent")), list(_crate_notices("tierscope-agent"))


def python_component(distribution: Distribution) -> Document:
    """A Python package by its own metadata."""
    meta = distribution.metadata
    told = [meta["License-Expression"]] if meta["License-Expression"] else []
    told = told or [line for line in meta.get_all("Classifier", []) if line.startswith("License ::")]
    name, version = canonicalize_name(meta["Name"]), meta["Version"]
    entry: Document = {
        "type": "library",
        "bom-ref": f"{name}=={version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
    }
    known = licence_of({"name": name, "licenses": [{"license": {"name": text}} for text in told]})
    return entry | ({"licenses": [{"expression": known}]} if known and " :: " not in known else {})


def _python_notices(found: Iterable[Distribution], licences: dict[str, str]) -> Iterator[Notice]:
    for distribution in found:
        name = canonicalize_name(distribution.metadata["Name"])
        if name in OWN:
            continue
        title = f"{name} {distribution.version} ({licences[name] or 'see the text'})"
        yield from ((title, text) for _, text in licence_files(distribution))


def _npm_notices(parts: Iterable[Document]) -> Iterator[Notice]:
    for part in parts:
        places = [entry["value"] for entry in part.get("properties", ()) if entry["name"] == "cdx:npm:package:path"]
        title = f"{part['name']} {part.get('version', '')} ({licence_of(part)})"
        for place in places:
            yield from ((title, text) for text in _texts_in(ROOT / "frontend" / place))


def _crate_notices(*roots: str) -> Iterator[Notice]:
    for package, folder in crates(roots):
        if package.runtime:
            title = f"{package.name} {package.version} ({package.licence})"
            yield from ((title, text) for text in _texts_in(folder))


def _linked(root: str) -> list[Package]:
    return [package for package, _ in crates([root]) if package.runtime]


def _texts_in(folder: Path) -> list[str]:
    names = sorted(path for path in folder.iterdir() if is_licence(path)) if folder.is_dir() else []
    return [text for path in names if (text := read_text(path))]


def one_file(notices: Iterable[Notice]) -> str:
    """Each text once, below the packages that carry it."""
    by_text: dict[str, list[str]] = {}
    for title, text in notices:
        titles = by_text.setdefault(text, [])
        if title not in titles:
            titles.append(title)
    parts = ["Tierscope is under the Apache License 2.0. It carries software of others under these licences."]
    for text, titles in sorted(by_text.items(), key=lambda pair: pair[1]):
        parts.append("\n".join(["=" * 80, *titles, "-" * 80, text]))
    return "\n\n".join(parts) + "\n"


def stamped(document: Document, name: str) -> Document:
    """The document with the time of the commit and a serial number that follows from what it lists."""
    moment = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), tz=UTC)
    listed = json.dumps(document["components"], sort_keys=True)
    described = {"type": "application", "bom-ref": name, "name": name}
    return document | {
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, listed)}",
        "metadata": {"timestamp": moment.isoformat(), "component": described},
    }


def main(words: list[str]) -> int:
    """Write both files; 1 where a library in a wheel may not be shipped."""
    match words:
        case ["service", site, out]:
            document, notices = service(Path(site))
        case ["agent", out]:
            document, notices = agent()
        case _:
            sys.exit(__doc__)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stamped(document, f"tierscope-{words[0]}"), indent=1)
    (folder / "sbom.cdx.json").write_text(text + "\n", encoding="utf-8")
    (folder / "third-party-licences.txt").write_text(one_file(notices), encoding="utf-8")
    faults = list(faults_inside(document))
    for fault in faults:
        print(f"not allowed: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
