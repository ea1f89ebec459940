"""Bare Debian roots made by mmdebstrap, and running commands in them."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from factories.waiting import DEADLINE_SECONDS
from proofs.artefacts import ROOT, NotHereError, NotProvenError, run

ARCHIVES = ROOT / ".build" / "dist-roots"
"""Roots are kept here, packed; remove one to have it made anew."""
# Mounts belong to the namespace and end with it, as do processes that were left; /proc shows these alone.
_ENTER = """
mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys"
[ "$2" = open ] || ip link set lo up
root=$1
shift 2
settings="PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive"
exec chroot "$root" /usr/bin/env -i $settings "$@"
"""


@dataclass(frozen=True, slots=True)
class Root:
    """A root file system of its own."""

    path: Path

    def sh(
        self, script: str, *, network: bool = True, fails: bool = False, seconds: float = 4 * DEADLINE_SECONDS
    ) -> str:
        """Run a shell script in it as root and return its stdout; without `network` it has a loopback of its own."""
        spaces = ["--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        entering: list[str | Path] = ["sh", "-c", _ENTER, "sh", self.path, "open" if network else "closed"]
        return run(["unshare", *spaces, *entering, "sh", "-euc", script], fails=fails, seconds=seconds)

    def put(self, source: Path, target: str) -> None:
        place = self.path / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)

    def named(self, word: str) -> list[str]:
        """Files whose path holds a word, but those of the kernel and of documents put there."""
        command: list[str | Path] = [
            "find",
            self.path,
            "-xdev",
            "-path",
            f"*{word}*",
            "-not",
            "-path",
            "*/put/*",
            "-printf",
            "/%P\n",
        ]
        return run(command).splitlines()


@contextmanager
def bare_root(suite: str) -> Iterator[Root]:
    """A new minimal root of a Debian release; it goes with the block.

    Raises:
        NotHereError: mmdebstrap is missing, the archive cannot be reached, or this account may not change its root.
    """
    if shutil.which("mmdebstrap") is None:
        raise NotHereError("mmdebstrap is not installed: apt-get install mmdebstrap")
    archive = ARCHIVES / f"{suite}.tar"
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        partial = archive.with_suffix(".partial.tar")
        command = ["mmdebstrap", "--quiet", "--variant", "minbase", suite, str(partial)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotHereError(f"mmdebstrap cannot make {suite}: {done.stderr.strip()[-500:]}")
        partial.rename(archive)
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=ARCHIVES) as name:
        root = Root(Path(name))
        root.path.chmod(0o755)
        unpack: list[str | Path] = [
            "tar",
            "--extract",
            "--file",
            archive,
            "--directory",
            root.path,
            "--exclude",
            "./dev/*",
        ]
        run([*unpack, "--numeric-owner"])
        for path in ("/etc/resolv.conf", "/etc/hosts"):
            root.put(Path(path), path)
        # Servers of packages wait to be asked, as in a container.
        policy = root.path / "usr" / "sbin" / "policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        policy.chmod(0o755)
        try:
            root.sh("true")
        except NotProvenError as reason:
            raise NotHereError(f"no root of its own for a process: {reason}") from reason
        yield root
