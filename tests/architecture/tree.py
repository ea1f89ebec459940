"""The files of the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_GENERATED = ("_generated", "node_modules", "target", "dist")


def tracked(*suffixes: str) -> list[Path]:
    """Return the files of the repository with one of the suffixes, without generated ones."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(line) for line in listed.stdout.splitlines() if line.endswith(suffixes)]
    kept = [path for path in paths if not set(path.parts) & set(_GENERATED)]
    return [path for path in kept if (ROOT / path).is_file()]
