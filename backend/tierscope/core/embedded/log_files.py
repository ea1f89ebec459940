"""Logs of the parts: bounded while they run, and without a line lost.

A part writes to a pipe, and a thread of the supervisor copies that to the part's file, which it puts aside when it has
grown large. The thread sleeps while nothing is written. On a full disk the part goes on; what could not be written is
counted in its log. Without `start_copying`, as in short commands and tests of one server, files are written directly.
"""

import contextlib
import os
import selectors
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.core.embedded.private_files import open_log

MOST_BYTES = 16 << 20
KEPT = 3
"""Files put aside, beside the one that is written: `NAME.1` is the newest of them."""
_CHUNK_BYTES = 64 << 10


@dataclass(slots=True)
class LogFile:
    """One log that is written by this process alone, and put aside at `most_bytes`."""

    path: Path
    most_bytes: int = MOST_BYTES
    lost_bytes: int = 0

    def write(self, data: bytes) -> None:
        """Append; what cannot be written is counted, and said once there is room."""
        note = f"[{self.lost_bytes} bytes could not be written]\n".encode() if self.lost_bytes else b""
        try:
            if self._size() + len(data) > self.most_bytes:
                put_aside(self.path)
            with os.fdopen(open_log(self.path), "ab", buffering=0) as file:
                rest = memoryview(note + data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError:
            self.lost_bytes += len(data)
        else:
            self.lost_bytes = 0

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def put_aside(path: Path) -> None:
    """Rename a log to `NAME.1`, the one before to `NAME.2` and so on; the oldest goes. Raises OSError."""
    for number in range(KEPT, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with contextlib.suppress(FileNotFoundError):
            newer.replace(older)


@dataclass(slots=True)
class _Copier:
    """The pipes of all parts, and the thread that empties them."""

    pipes: dict[int, LogFile] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def add(self, path: Path) -> int:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        with self.lock:
            self.pipes[reading] = LogFile(path)
            self.selector.register(reading, selectors.EVENT_READ)
        return writing

    def run(self) -> None:
        while True:
            for key, _ in self.selector.select():
                self.empty(key.fd)

    def empty(self, reading: int) -> None:
        """Copy what a pipe holds; forget it when all who could write to it have ended."""
        with self.lock:
            log = self.pipes.get(reading)
            while log is not None:
                try:
                    data = os.read(reading, _CHUNK_BYTES)
                except BlockingIOError:
                    return
                if data:
                    log.write(data)
                    continue
                self.selector.unregister(reading)
                os.close(reading)
                del self.pipes[reading]
                log = None


_copiers: list[_Copier] = []


def start_copying() -> None:
    """Have logs of children that start from now on be copied by a thread of this process."""
    if not _copiers:
        copier = _Copier()
        threading.Thread(target=copier.run, name="logs", daemon=True).start()
        _copiers.append(copier)


def open_for_child(path: Path) -> int:
    """Return a descriptor that a child writes its log to. The caller closes its own copy. Raises OSError."""
    return _copiers[0].add(path) if _copiers else open_log(path)


def settle() -> None:
    """Have everything that children have written so far be in their files."""
    for copier in _copiers:
        for reading in list(copier.pipes):
            copier.empty(reading)


def bound_own_log(path: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """Put this process's own log aside where its standard output is `path` and has grown large. Raises OSError."""
    try:
        info = path.stat()
    except FileNotFoundError:
        return
    if info.st_size <= most_bytes or not os.path.samestat(info, os.fstat(1)):
        return
    put_aside(path)
    descriptor = open_log(path)
    try:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
    finally:
        os.close(descriptor)
