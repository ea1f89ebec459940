"""Which agents there are on this machine."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DYNAMIC = b"ld-linux"
_HEAD_BYTES = 4096


def shipped_agent() -> Path | None:
    """The one that `make agent` makes, or that is named."""
    named = os.environ.get("TIERSCOPE_AGENT_BINARY")
    if named is None:
        script = ROOT / "deploy" / "dev" / "compile.sh"
        done = subprocess.run([script, "--print-agent"], capture_output=True, text=True, check=False)
        named = done.stdout.strip()
    path = Path(named)
    return path if named and path.is_file() else None


def dynamic_agent() -> Path | None:
    """The same where it is linked dynamically, so that its clock can be set; static programs keep theirs."""
    shipped = shipped_agent()
    return shipped if shipped is not None and _is_dynamic(shipped) else None


def _is_dynamic(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _DYNAMIC in file.read(_HEAD_BYTES)
