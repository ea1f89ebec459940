"""Which agents there are on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DYNAMIC = b"ld-linux"
_HEAD_BYTES = 4096


def shipped_agent() -> Path | None:
    """The release that users get."""
    named = os.environ.get("TIERSCOPE_AGENT_BINARY")
    if named is None:
        script = ROOT / "deploy" / "dev" / "build-agent.sh"
        done = subprocess.run([script, "--print-path"], capture_output=True, text=True, check=False)
        named = done.stdout.strip()
    path = Path(named)
    return path if named and path.is_file() else None


def dynamic_agent() -> Path | None:
    """One that is linked dynamically, so that its clock can be set: the shipped one, or that of the Rust tests.

    That of the Rust tests counts only where it is not older than its source: it may be what another day left there.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "collector-agent" / "target"))
    shipped, compiled = shipped_agent(), target / "debug" / "tierscope-agent"
    if shipped is not None and _is_dynamic(shipped):
        return shipped
    return compiled if _is_dynamic(compiled) and compiled.stat().st_mtime >= _source_written(compiled) else None


def _is_dynamic(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _DYNAMIC in file.read(_HEAD_BYTES)


def _source_written(compiled: Path) -> float:
    """When the newest file that went into a program was written, in s since the epoch.

    `cargo build` lists them beside it; `cargo test` does not, and all files of the agent's crates count.
    """
    listed = compiled.with_suffix(".d")
    if listed.is_file():
        files = [Path(name) for name in listed.read_text(encoding="utf-8").partition(": ")[2].split()]
    else:
        files = list((ROOT / "collector-agent" / "crates").glob("*/src/**/*.rs"))
    return max(path.stat().st_mtime for path in files if path.exists())
