"""Recordings of collectl: a header, then for each moment the lines of the kernel's own files.

Of `/proc/vmstat` it leaves out `nr_*` and `numa*`, and all from `pgrefill` on unless it runs with `--memopts ps`; of a
node's meminfo the first line, which is the sum of free and used (4.3.1, `getProc`).
"""

import re
from collections.abc import Iterable

from tierscope.domain.counters.unsent import NEEDED
from tierscope.domain.ingest.history.recorded import Recorded
from tierscope.domain.ingest.prometheus.other_senders import find_other

_KIB = 1024.0
_MOMENT = re.compile(r">>> (\d+\.?\d*) <<<")
_VMSTAT = re.compile(r"((?:pg|pswp|allocstall|workingset_|nr_sh|thp_|compact_|oom_kill)\w*) (\d+)$")
_MEMINFO = re.compile(r"(?:numai Node (\d+) )?([A-Z]\w+?)(?:\((anon|file)\))?:\s+(\d+) kB$")
_NUMASTAT = re.compile(r"numas Node (\d+) (\w+) (\d+)$")
_HEADER = {
    "nodename": re.compile(r"^# Host: +(\S+)", re.MULTILINE),
    "release": re.compile(r"^# Kernel: +(\S+)", re.MULTILINE),
    "machine": re.compile(r"^# HZ: .* Arch: ([^-\s]+)", re.MULTILINE),
    "version": re.compile(r"^# Collectl: +V(\S+)", re.MULTILINE),
}
_BOOTED = re.compile(r"^# Booted: +(\d+)", re.MULTILINE)
_WHERE = {
    "promotions": "collectl 4 records them with -s+m",
    "demotions": "kernels before 6.8 print them where collectl stops: it goes on with --memopts ps",
    "hint faults": "collectl leaves all lines numa_* out",
    "memory by node": "collectl records it with -s+M",
}


def read_raw(lines: Iterable[str]) -> Recorded:
    """What a file holds.

    Raises:
        ValueError: it is no recording of collectl, or names no host.
    """
    header, rest = [], iter(lines)
    first = None
    for line in rest:
        first = _MOMENT.match(line)
        if first is not None:
            break
        if not line.startswith("#"):
            raise ValueError("it is no recording of collectl")
        header.append(line.rstrip("\n"))
    text = "\n".join(header)
    about = {name: found[1] for name, pattern in _HEADER.items() if (found := pattern.search(text))}
    if "nodename" not in about or first is None:
        raise ValueError("it is no recording of collectl with moments")
    recorded = Recorded("collectl", about["nodename"], about)
    booted = _BOOTED.search(text)
    at_ms = round(float(first[1]) * 1000)
    for line in rest:
        moment = _MOMENT.match(line)
        if moment is not None:
            at_ms = round(float(moment[1]) * 1000)
        else:
            _note(recorded, line.rstrip("\n"), at_ms)
    if booted is not None:
        for moment_ms in recorded.times_ms():
            recorded.add("collectl_boot_time_seconds", moment_ms, float(booted[1]))
    keys = {
        key
        for metric, labels in recorded.columns
        for key, _ in (find_other({"__name__": metric, **dict(labels)}) or ("", ()))[1]
    }
    recorded.notes += [
        f"{name}: not in it. {_WHERE[name]}." for name, several in NEEDED.items() if not keys & {*several}
    ]
    return recorded


def _note(recorded: Recorded, line: str, at_ms: int) -> None:
    if found := _VMSTAT.match(line):
        recorded.add(f"collectl_vmstat_{found[1]}", at_ms, float(found[2]))
    elif found := _NUMASTAT.match(line):
        recorded.add(f"collectl_numastat_{found[2]}", at_ms, float(found[3]), node=found[1])
    elif found := _MEMINFO.match(line):
        labels = {"node": found[1]} if found[1] else {}
        name = f"{found[2]}_{found[3]}" if found[3] else found[2]
        recorded.add(f"collectl_meminfo_{name}", at_ms, float(found[4]) * _KIB, **labels)
        if found[1] and name == "MemUsed":
            free = recorded.columns.get(("collectl_meminfo_MemFree", (("node", found[1]),)), {}).get(at_ms)
            if free is not None:
                recorded.add("collectl_meminfo_MemTotal", at_ms, free + float(found[4]) * _KIB, **labels)
