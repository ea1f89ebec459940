"""The checklist of a release, as far as a program can go through it: `make release-check`.

    .venv/bin/python deploy/release/check.py [--full]

Prints a line per item with `ok`, `FAILED` or `not run`; the exit status is 1 where one failed.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from alembic.script import ScriptDirectory

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("breaking", "deprecated", "security", "added", "changed", "fixed")
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
RELEASED = Path("contract") / "released.tsv"
NEEDED = ("CHANGELOG.md", "SECURITY.md", "LICENSE", "requirements.lock", "collector-agent/Cargo.lock")

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the list: faults are empty where it is right, None where it was not looked at."""

    name: str
    detail: str
    faults: Sequence[str] | None


def versions(root: Path) -> dict[str, str]:
    """Return the version that each place names."""
    found = re.search(r'__version__ = "(.+)"', (root / "backend/tierscope/__init__.py").read_text(encoding="utf-8"))
    cargo = tomllib.loads((root / "collector-agent/Cargo.toml").read_text(encoding="utf-8"))
    client = tomllib.loads((root / "backend/tierscope_client/pyproject.toml").read_text(encoding="utf-8"))
    api = json.loads((root / "contract/openapi.json").read_text(encoding="utf-8"))
    web = json.loads((root / "frontend/package.json").read_text(encoding="utf-8"))
    chart = yaml.safe_load((root / "deploy/helm/tierscope/Chart.yaml").read_text(encoding="utf-8"))
    return {
        "backend/tierscope/__init__.py": found[1] if found else "",
        "collector-agent/Cargo.toml": cargo["workspace"]["package"]["version"],
        "backend/tierscope_client/pyproject.toml": client["project"]["version"],
        "contract/openapi.json": api["info"]["version"],
        "frontend/package.json": web["version"],
        "deploy/helm/tierscope/Chart.yaml": chart["version"],
        "appVersion of deploy/helm/tierscope/Chart.yaml": chart["appVersion"],
    } | image_tags(root)


def image_tags(root: Path) -> dict[str, str]:
    """The tags of this project's images in the manifests, where there are several in a file the tags of all."""
    found = {}
    for path in sorted((root / "deploy/kubernetes").glob("*.yaml")):
        tags = set(re.findall(r"image: tierscope/\w+:(\S+)", path.read_text(encoding="utf-8")))
        if tags:
            found[f"images of {path.relative_to(root)}"] = ", ".join(sorted(tags))
    return found


def parsed(version: str) -> Version | None:
    """Return the parts of a SemVer without suffix; None for other texts."""
    match = SEMVER.fullmatch(version)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def check_version(found: dict[str, str], newest: str | None) -> Item:
    """All places name one version, later than the newest release."""
    version = found["backend/tierscope/__init__.py"]
    faults = [f"{place} says {other}, not {version}: set it" for place, other in found.items() if other != version]
    own = parsed(version)
    if own is None:
        faults.append(f"{version!r} is no MAJOR.MINOR.PATCH")
    elif newest is not None and own <= (parsed(newest) or own):
        faults.append(f"{version} is not later than the newest release, {newest}: raise it")
    return Item("version", version, faults)


def check_changelog(root: Path, version: str, newest: str | None) -> Item:
    """There is something to tell, of known kinds, and the version allows it."""
    fragments = sorted(path.name for path in (root / "changes").glob("*.md") if path.name != "README.md")
    kinds = [name.split(".")[-2] if name.count(".") >= 2 else "" for name in fragments]  # noqa: PLR2004 - name.kind.md
    faults = [
        f"changes/{name} names no kind: call it +<name>.<kind>.md, with one of {', '.join(KINDS)}"
        for name, kind in zip(fragments, kinds, strict=True)
        if kind not in KINDS
    ]
    told = f"## {version} " in (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not fragments and not told:
        faults.append("nothing to tell: add fragments to changes/")
    own, before = parsed(version), parsed(newest or "")
    if own and before and "breaking" in kinds:
        rises = own[:1] > before[:1] if own[0] else own[:2] > before[:2]
        if not rises:
            faults.append(
                f"a fragment is `breaking`: after {newest} that takes a new {'major' if own[0] else 'minor'} version"
            )
    if own and before and "added" in kinds and own[:2] == before[:2]:
        faults.append(f"a fragment is `added`: after {newest} that takes a new minor version")
    return Item("changelog", f"{len(fragments)} fragments" + (", and a section" if told else ""), faults)


def check_contract(root: Path, newest: str | None) -> Item:
    """Nothing that was promised is broken, and the promises are those of the newest release."""
    done = run([sys.executable, "contract/promises.py"], root)
    *lines, summary = done.stdout.splitlines() or [done.stderr.strip()]
    faults = list(lines) if done.returncode else []
    if done.returncode and not faults:
        faults = [summary]
    recorded = (root / RELEASED).read_text(encoding="utf-8").splitlines()[0].removeprefix("# Tierscope ")
    if newest is not None and recorded != newest:
        faults.append(f"{RELEASED} is of {recorded}, not of {newest}: record it at the tag with promises.py --record")
    return Item("contract", summary, faults)


def check_schema(root: Path) -> Item:
    """The revisions of the database have one head."""
    heads = ScriptDirectory(str(root / "migrations")).get_heads()
    faults = [] if len(heads) == 1 else [f"{len(heads)} heads: give one of them the other as its parent"]
    return Item("schema", ", ".join(heads), faults)


def check_generated(root: Path) -> Item:
    """The committed description of the API is that of the routers."""
    done = run([sys.executable, "contract/gen_openapi.py", "--check"], root)
    return Item("generated", "contract/openapi.json", [done.stderr.strip()[-300:]] if done.returncode else [])


def check_policy(root: Path) -> Item:
    """Files that a release needs are there."""
    faults = [f"{name} is missing" for name in NEEDED if not (root / name).is_file()]
    return Item("policy", f"{len(NEEDED)} files", faults)


def check_tree(root: Path) -> Item:
    """Nothing is uncommitted."""
    changed = run(["git", "status", "--porcelain"], root).stdout.splitlines()
    faults = [f"{len(changed)} files are not committed, the first: {changed[0][3:]}"] if changed else []
    return Item("tree", run(["git", "rev-parse", "--short", "HEAD"], root).stdout.strip(), faults)


def check_make(root: Path, verb: str, *, full: bool) -> Item:
    """Run a verb of the Makefile, where asked to."""
    if not full:
        return Item(verb, f"`make {verb}`, with --full", None)
    done = run(["make", verb], root)
    return Item(verb, f"`make {verb}`", [done.stdout[-1000:] + done.stderr[-1000:]] if done.returncode else [])


def newest_release(root: Path) -> str | None:
    """Return the version of the newest tag of a release; None before the first."""
    tags = run(["git", "tag", "--list", "v*"], root).stdout.split()
    found = [(version, tag) for tag in tags if (version := parsed(tag.removeprefix("v")))]
    return max(found)[1].removeprefix("v") if found else None


def run(command: Sequence[str], root: Path) -> subprocess.CompletedProcess[str]:
    """Run a program at the root of the tree."""
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603


def go_through(root: Path, *, full: bool) -> list[Item]:
    """Go through the list, in order."""
    found, newest = versions(root), newest_release(root)
    version = found["backend/tierscope/__init__.py"]
    items: list[Callable[[], Item]] = [
        lambda: check_tree(root),
        lambda: check_version(found, newest),
        lambda: check_changelog(root, version, newest),
        lambda: check_contract(root, newest),
        lambda: check_schema(root),
        lambda: check_generated(root),
        lambda: check_policy(root),
        lambda: check_make(root, "lint", full=full),
        lambda: check_make(root, "test", full=full),
        lambda: check_make(root, "test-long", full=full),
    ]
    return [item() for item in items]


def main() -> int:
    """Print the list; returns the exit status."""
    parser = argparse.ArgumentParser(description="The checklist of a release.")
    parser.add_argument("--full", action="store_true", help="run linters and tests too")
    failed = 0
    for item in go_through(ROOT, full=parser.parse_args().full):
        state = "not run" if item.faults is None else "FAILED" if item.faults else "ok"
        print(f"{state:<8} {item.name:<10} {item.detail}")
        for fault in item.faults or ():
            print(f"         {fault}")
        failed += bool(item.faults)
    print(f"{failed} failed" if failed else "nothing failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
