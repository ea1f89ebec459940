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
        done = subprocess.run([script, "--print-path"], capture_output=True, text=True, check=False, timeout=60)
        named = done.stdout.strip()
    path = Path(named)
    return path if named and path.is_file() else None


def dynamic_agent() -> Path | None:
    """One that is linked dynamically, so that its clock can be set: the shipped one, or that of the Rust tests."""
    for path in (shipped_agent(), ROOT / "collector-agent" / "target" / "debug" / "tierscope-agent"):
        if path is not None and path.is_file() and _DYNAMIC in path.read_bytes()[:_HEAD_BYTES]:
            return path
    return None
