"""The .rpm packages in a root of their own: unpacked, compared with what they list, removed.

No Enterprise Linux is reached from here, so that neither dependencies nor scripts run.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofs.artefacts import NotHereError, NotProvenError, Proven, find_one, run


def prove() -> Iterator[Proven]:
    """Install agent and service without their scripts, compare, and remove them."""
    if shutil.which("rpm") is None:
        raise NotHereError("rpm is not installed: apt-get install rpm")
    packages = [find_one("packages/tierscope-agent-*.rpm"), find_one("packages/tierscope-*+el*.rpm")]
    with tempfile.TemporaryDirectory(prefix="tierscope-rpm-") as name:
        rpm: list[str | Path] = ["rpm", "--root", name]
        run([*rpm, "--initdb"])
        run([*rpm, "--install", "--nodeps", "--noscripts", *packages])
        names = run([*rpm, "--query", "--all", "--queryformat", "%{NAME} "]).split()
        # Accounts of the root are not there: owners cannot be compared.
        run([*rpm, "--verify", "--nodeps", "--noscripts", "--nouser", "--nogroup", *names])
        version = run([Path(name) / "usr" / "bin" / "tierscope-agent", "--version"]).strip()
        yield Proven("rpm installs and verifies both in a root of their own", f"{' '.join(sorted(names))}; {version}")
        run([*rpm, "--erase", "--nodeps", "--noscripts", *names])
        left = [str(path) for path in Path(name).rglob("*tierscope*")]
        if left:
            raise NotProvenError(f"left after rpm --erase: {left[:20]}")
        yield Proven("rpm --erase leaves nothing", "no file of that name")
    yield Proven("scripts and dependencies", "not run here, because no Enterprise Linux is reached")
