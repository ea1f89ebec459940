"""Processes to measure: `python -m bench.target touch MIB HOT_MIB`, `python -m bench.target fault PER_SECOND`."""

import mmap
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

PAGE_BYTES = 4096
PAUSE_S = 0.05
FAULT_PAUSE_S = 0.01
FAULT_MIB = 64
"""Memory that faults go through."""


def running(*, mib: int, hot_mib: int) -> AbstractContextManager[int]:
    """Yield the pid of a process with `mib` MiB resident that touches `hot_mib` of them every 50 ms."""
    return _running("touch", str(mib), str(hot_mib))


def faulting(*, per_second: int) -> AbstractContextManager[int]:
    """Yield the pid of a process that makes so many page faults a second."""
    return _running("fault", str(per_second))


@contextmanager
def _running(*arguments: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "bench.target", *arguments], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != b"ready":
            raise RuntimeError(f"the process under test did not begin: {' '.join(arguments)}")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Be such a process until killed."""
    match sys.argv[1:]:
        case ["touch", mib, hot_mib]:
            touch(int(mib) << 20, int(hot_mib) << 20)
        case ["fault", per_second]:
            fault(int(per_second))
        case _:
            raise SystemExit(__doc__)


def memory(size: int) -> mmap.mmap:
    """Anonymous memory of small pages."""
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapped.madvise(mmap.MADV_NOHUGEPAGE)
    return mapped


def touch(size: int, hot: int) -> None:
    """Take `size` bytes, then touch the first `hot` of them again and again."""
    mapped = memory(size)
    zeros = bytes(1 << 20)
    for offset in range(0, size, len(zeros)):
        mapped[offset : offset + len(zeros)] = zeros
    print("ready", flush=True)
    ones = bytes([1]) * (hot // PAGE_BYTES)
    while True:
        mapped[0:hot:PAGE_BYTES] = ones
        time.sleep(PAUSE_S)


def fault(per_second: int) -> None:
    """Give pages back and touch them again, so many a second on average."""
    size = FAULT_MIB << 20
    mapped = memory(size)
    at_once = int(per_second * FAULT_PAUSE_S)
    ones = bytes([1]) * at_once
    print("ready", flush=True)
    begin, done, offset = time.monotonic(), 0, 0
    while True:
        while done > (time.monotonic() - begin) * per_second:
            time.sleep(FAULT_PAUSE_S / 4)
        end = offset + at_once * PAGE_BYTES
        if end > size:
            offset, end = 0, at_once * PAGE_BYTES
        mapped.madvise(mmap.MADV_DONTNEED, offset, end - offset)
        mapped[offset:end:PAGE_BYTES] = ones
        done += at_once
        offset = end


if __name__ == "__main__":
    main()
