"""damo, the reference of the heat part: `damo record --do_record access`, in an environment of its own."""

import fcntl
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

VERSION = "3.4.3"
ENVIRONMENT = Path(__file__).parents[2] / ".build" / "damo"
KDAMONDS = Path("/sys/kernel/mm/damon/admin/kdamonds")
TRACING = Path("/sys/kernel/tracing")
LOCK = Path("/tmp/tierscope-damon.lock")
"""Whoever uses DAMON on this host for a test or a benchmark holds it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording took: user and system time of damo and of all that it started, in seconds."""

    cpu_seconds: float
    peak_rss_bytes: int


def unusable() -> str | None:
    """Why damo cannot record here; None where it can."""
    if os.geteuid() != 0:
        return "DAMON takes root"
    if not KDAMONDS.is_dir():
        return "the kernel has no DAMON sysfs interface"
    if (KDAMONDS / "nr_kdamonds").read_text().strip() != "0":
        return "another program uses DAMON"
    missing = [name for name in ("perf", "file") if shutil.which(name) is None]
    return f"damo needs {' and '.join(missing)}" if missing else None


@contextmanager
def alone() -> Iterator[None]:
    """Hold DAMON of this host."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install() -> Path:
    """Install damo from PyPI where it is not yet; its program."""
    program = ENVIRONMENT / "bin" / "damo"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(ENVIRONMENT / "bin" / "pip"), "install", "--quiet", f"damo=={VERSION}"]
        subprocess.run(pip, check=True)
    return program


@contextmanager
def tracing() -> Iterator[None]:
    """Mount tracefs, which damo reads, where it is not mounted, and unmount it afterwards."""
    if (TRACING / "events").is_dir():
        yield
        return
    subprocess.run(["mount", "-t", "tracefs", "tracefs", str(TRACING)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(TRACING)], check=True)


def record(program: Path, pid: int, seconds: float) -> Recorded:
    """Record the accesses of a process for that long; from start to end of damo."""
    with tracing(), tempfile.TemporaryDirectory(prefix="tierscope-bench-damo-") as directory:
        out = ["--do_record", "access", "--timeout", f"{seconds:g}", "--out", f"{directory}/record"]
        # damo keeps notes in the home directory.
        environment = os.environ | {"HOME": directory}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [str(program), "record", *out, str(pid)], env=environment, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0 or not any(Path(directory).glob("record*")):
            raise RuntimeError(f"damo record failed: {(done.stderr or done.stdout).strip()[-500:]}")
    used = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return Recorded(cpu_seconds=used, peak_rss_bytes=after.ru_maxrss * 1024)
