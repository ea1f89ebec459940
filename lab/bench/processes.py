"""CPU time and memory of a running process, from /proc."""

import os
from pathlib import Path

from tierscope.core.embedded.process import list_children


def cpu_seconds(pid: int) -> float:
    """User plus system time of all threads of `pid`, ended ones included; resolution is one clock tick."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_cpu_seconds(pid: int) -> float:
    """The same of a server and of all processes that it started, those that have ended too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return ended + cpu_seconds(pid) + sum(_cpu_or_none(child) for child in list_children(pid))


def _cpu_or_none(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except FileNotFoundError:  # it has ended since
        return 0.0


def peak_rss_bytes(pid: int) -> int:
    """The largest resident size `pid` has had (VmHWM)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/{pid}/status has no VmHWM line: is the process a kernel thread?")


def rss_bytes(pid: int) -> int:
    """The resident size of `pid` now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def thread_cpu_seconds(pid: int) -> float:
    """CPU time of the main thread of `pid` alone, to the nanosecond."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9
