"""Writes requirements-runtime.lock: the part of requirements.lock that a running service needs, for its image.

    .venv/bin/python deploy/docker/runtime_lock.py [--check]

Followed from the package's own dependencies and the extras `parquet`, `objects` and `traces`. The embedded servers of the
extra `local` are left out: a container has its database and its queue elsewhere.
"""

import argparse
import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
RUNTIME_LOCK = ROOT / "requirements-runtime.lock"
EXTRAS = ("parquet", "objects", "traces")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


def runtime_names(extras: tuple[str, ...] = EXTRAS) -> set[str]:
    """The packages that the service with these extras needs on Linux, on any Python that it supports."""
    wanted: set[str] = set()
    waiting = [("tierscope", extra) for extra in ("", *extras)]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        for text in _requirements(name):
            requirement = Requirement(text)
            child = canonicalize_name(requirement.name)
            if not _applies(requirement, extra):
                continue
            wanted.add(child)
            for following in [(child, part) for part in ("", *sorted(requirement.extras))]:
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
    return wanted


def _requirements(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def _applies(requirement: Requirement, extra: str) -> bool:
    if requirement.marker is None:
        return extra == ""
    places = [
        {
            "python_version": python,
            "python_full_version": f"{python}.0",
            "platform_machine": machine,
            "sys_platform": "linux",
            "platform_system": "Linux",
            "os_name": "posix",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
        }
        for python in PYTHONS
        for machine in MACHINES
    ]
    return any(
        requirement.marker.evaluate(place | {"extra": extra})
        and (extra == "" or not requirement.marker.evaluate(place | {"extra": ""}))
        for place in places
    )


def runtime_lock() -> str:
    """The entries of the lock, with their hashes, that the service needs."""
    text = LOCK.read_text(encoding="utf-8")
    starts = [found.start() for found in _ENTRY.finditer(text)]
    entries = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    names = runtime_names()
    kept = [entry for entry in entries if canonicalize_name(entry.partition("==")[0]) in names]
    found = {canonicalize_name(entry.partition("==")[0]) for entry in kept}
    missing = sorted(name for name in names - found if _requirements(name))
    if missing:
        sys.exit(f"not in {LOCK.name}: {', '.join(missing)}; lock again first")
    return "".join(kept)


def main() -> int:
    """Write the file, or say with --check whether it is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = runtime_lock()
    if not parser.parse_args().check:
        RUNTIME_LOCK.write_text(text, encoding="utf-8")
        return 0
    if RUNTIME_LOCK.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{RUNTIME_LOCK.name} is old: run .venv/bin/python {Path(__file__).relative_to(ROOT)}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
