"""The service's own program, where the account that it runs as can read it.

A clone in `/root`, or a Python in root's home, is closed to other accounts. What they cannot reach is copied once to
`/var/cache/tierscope`: the interpreter, the packages and the source, each by itself. On one file system the copies are
hard links, which take no room. A copy is named after where it came from and what that was like, so that what changed
gets a new one; old ones go when no supervisor uses them.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tierscope
from tierscope.core.embedded.account import Account, can_traverse
from tierscope.core.embedded.errors import EmbeddedError

CACHE = Path("/var/cache/tierscope")
_PACKAGE = Path(tierscope.__file__).resolve().parent
_TREE = _PACKAGE.parents[1]
_SOURCES = ("backend/tierscope", "frontend/dist", "migrations")
"""What the service reads of a source tree. An installed package holds all of it itself."""
_NEVER_COPIED = frozenset({"site-packages", "dist-packages", "test"})
_READ_OTHER = 0o004
_PARTIAL = ".partial-"


@dataclass(slots=True)
class Program:
    """How to run `tierscope`: the interpreter, and what its environment needs beside that of the caller.

    It holds the copies that it consists of until `release`, or until this process ends.
    """

    python: str
    env: Mapping[str, str] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)

    def command(self, *arguments: str) -> list[str]:
        """Return the words of a `tierscope` command."""
        return [self.python, "-m", "tierscope.cli", *arguments]

    def release(self) -> None:
        """Let go of the copies."""
        while self.held:
            os.close(self.held.pop())


def reachable_program(account: Account, *, cache: Path = CACHE) -> Program:
    """Return this program where `account` can read it: as it is, or a copy of what is closed to it.

    Raises:
        EmbeddedError: a copy cannot be made or cannot be reached either.
    """
    packages = Path(sysconfig.get_path("purelib")).resolve()
    library = Path(os.__file__).resolve().parent
    base = Path(sys.base_prefix).resolve()
    installed = _PACKAGE.is_relative_to(packages)
    sources = [] if installed else _source_trees()
    read = (library, packages, *sources)
    closed = [path for path in read if is_closed(path, account)] if account.drops else []
    if account.drops and not can_traverse(base / "bin", account):
        closed.append(base)
    if not closed:
        return Program(python=sys.executable)
    copies = _Copies(cache)
    held = copies.held
    try:
        if base in closed or library in closed:
            base = copies.provide("python", base, lambda copy: _copy_python(base, library, copy))
        if packages in closed:
            source = packages
            packages = copies.provide("packages", source, lambda copy: _copy_tree(source, copy, skip=()))
        path = [str(packages)]
        if not installed:
            tree = _TREE
            if any(part in closed for part in sources):
                tree = copies.provide("source", _TREE, _copy_sources)
            path.insert(0, str(tree / "backend"))
    except OSError as error:
        raise EmbeddedError(
            cause=f"'{account.name}' cannot read {closed[0]}, and a copy in {cache} cannot be made: {error}",
            next_step=f"make room there, or run Tierscope from a directory that '{account.name}' can read",
        ) from error
    for place in (base / "bin", packages, Path(path[0])):
        if not can_traverse(place, account):
            raise EmbeddedError(
                cause=f"the service runs as user '{account.name}', which cannot read {place}",
                next_step="open that directory for reading, or run Tierscope from another one",
            )
    python = base / "bin" / Path(getattr(sys, "_base_executable", sys.executable)).resolve().name
    return Program(python=str(python), env=_environment(base, path), held=held)


def is_closed(root: Path, account: Account) -> bool:
    """Tell whether `account` cannot enter a directory, or cannot read one of its direct entries, by permission bits."""
    if not can_traverse(root, account):
        return True
    for entry in os.scandir(root):
        with contextlib.suppress(FileNotFoundError):
            info = entry.stat()
            needed = 0o005 if stat.S_ISDIR(info.st_mode) else _READ_OTHER
            if info.st_uid != account.uid and info.st_mode & needed != needed:
                return True
    return False


def _environment(base: Path, path: Sequence[str]) -> dict[str, str]:
    env = {"PYTHONPATH": os.pathsep.join(path), "PYTHONNOUSERSITE": "1"}
    if any((base / "lib").glob("libpython*.so*")):
        former = os.environ.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = os.pathsep.join([str(base / "lib"), *([former] if former else [])])
    return env


def _source_trees() -> list[Path]:
    """Directories of a source tree whose entries the service reads."""
    roots = [_TREE / name for name in _SOURCES]
    found = [Path(parent) for root in roots for parent, _, _ in os.walk(root)]
    return [path for path in found if path.name != "__pycache__"]


@dataclass(slots=True)
class _Copies:
    """Copies in one directory, and locks on those in use."""

    cache: Path
    held: list[int] = field(default_factory=list)

    def provide(self, part: str, source: Path, make: Callable[[Path], None]) -> Path:
        """Return the copy of `source` as it is now; made where it does not exist. Raises OSError."""
        for directory in (self.cache.parent, self.cache):
            if not directory.exists():
                directory.mkdir(parents=True)
                directory.chmod(0o755)
        self._check_owner()
        family = f"{part}-{_digest(str(source))}-"
        target = self.cache / f"{family}{_digest(*_contents(part, source))}"
        if not target.exists():
            partial = self.cache / f"{target.name}{_PARTIAL}{os.getpid()}"
            try:
                partial.mkdir()
                partial.chmod(0o755)
                make(partial)
                partial.rename(target)
            except OSError:
                if not target.exists():  # another supervisor may have made the same one meanwhile
                    raise
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        self.held.append(descriptor)
        for old in self.cache.glob(f"{family}*"):
            maker = old.name.rpartition(_PARTIAL)[2]
            if old != target and not (_PARTIAL in old.name and Path("/proc", maker).exists()):
                _remove_unused(old)
        return target

    def _check_owner(self) -> None:
        info = self.cache.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
            raise PermissionError(f"{self.cache} is not root's alone to write")


def _remove_unused(copy: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(copy)
        finally:
            os.close(descriptor)


def _contents(part: str, source: Path) -> Iterator[str]:
    """What a copy is told apart by.

    Packages are installed and removed as whole directories, each with a `.dist-info`. Times of other directories tell
    nothing: they change whenever Python keeps what it has compiled.
    """
    yield sys.version
    if part != "source":
        roots = [source] if part == "packages" else [source / "bin", Path(os.__file__).resolve().parent]
        for entry in (entry for root in roots for entry in _sorted(root) if entry.name != "__pycache__"):
            is_code = entry.is_dir() and not entry.name.endswith(".dist-info")
            yield entry.name if is_code else f"{entry.name} {entry.stat(follow_symlinks=False).st_mtime_ns}"
        return
    for directory in _source_trees():
        for entry in _sorted(directory):
            if entry.is_file():
                info = entry.stat()
                yield f"{entry.path} {info.st_mtime_ns} {info.st_size}"


def _sorted(directory: Path) -> list[os.DirEntry[str]]:
    return sorted(os.scandir(directory), key=lambda entry: entry.name)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _copy_python(base: Path, library: Path, copy: Path) -> None:
    _copy_tree(library, copy / library.relative_to(base), skip=_NEVER_COPIED)
    (copy / "bin").mkdir()
    (copy / "bin").chmod(0o755)
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    _copy_file(executable, copy / "bin" / executable.name)
    for shared in (base / "lib").glob("libpython*.so*"):
        _copy_file(shared.resolve(), copy / "lib" / shared.name)


def _copy_sources(copy: Path) -> None:
    for name in _SOURCES:
        if (_TREE / name).is_dir():
            _copy_tree(_TREE / name, copy / name, skip=())


def _copy_tree(source: Path, copy: Path, *, skip: Collection[str]) -> None:
    for directory in reversed([copy, *(parent for parent in copy.parents if not parent.exists())]):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    for entry in os.scandir(source):
        if entry.name in skip:
            continue
        if entry.is_dir(follow_symlinks=False):
            _copy_tree(Path(entry.path), copy / entry.name, skip=skip)
        elif entry.is_file():
            _copy_file(Path(entry.path).resolve(), copy / entry.name)


def _copy_file(source: Path, copy: Path) -> None:
    """Link a file that everybody may read, else copy it for everybody to read."""
    info = source.stat()
    if info.st_mode & _READ_OTHER:
        with contextlib.suppress(OSError):
            copy.hardlink_to(source)
            return
    shutil.copy2(source, copy)
    copy.chmod(0o755 if info.st_mode & stat.S_IXUSR else 0o644)
