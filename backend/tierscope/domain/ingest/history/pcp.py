"""Samples of Performance Co-Pilot: what `pmrep -o csv -r` prints of an archive, under the names that pmproxy prints.

Values are those that were recorded, at their own times (`-u`), and counters are counters (`-r`): without it pmrep
prints rates, which are told by their fractions.
"""

import csv
import re
from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from tierscope.domain.counters.unsent import NEEDED
from tierscope.domain.ingest.history.recorded import Recorded
from tierscope.domain.ingest.prometheus.other_senders import find_other

METRICS = (
    "mem.vmstat",
    "mem.util",
    "mem.physmem",
    "mem.numa.util",
    "mem.numa.alloc",
    "kernel.all.pressure",
    "kernel.all.pswitch",
    "kernel.all.uptime",
    "kernel.uname.release",
    "kernel.uname.machine",
    "hinv.machine",
)
"""What of an archive is asked for."""
COMMAND = "pmrep -a ARCHIVE -u -r -5 -o csv -Z UTC -f '%Y-%m-%dT%H:%M:%S.%f+00:00' " + " ".join(METRICS)
_NAME = re.compile(r"(?:[\w.]+:)?([a-z][\w.]*?)(?:-(.+))?")
_ABOUT = {"kernel.uname.release": "release", "kernel.uname.machine": "machine", "hinv.machine": "machine"}
_WHERE = {
    "promotions": "PCP 7 has them, where pmlogger logs mem.vmstat",
    "demotions": "PCP 7 has them, where pmlogger logs mem.vmstat",
    "hint faults": "pmlogger logs them with mem.vmstat",
    "memory by node": "pmlogger logs it with mem.numa.util",
}


def read_csv(lines: Iterable[str], host: str, zone: ZoneInfo | None) -> Recorded:
    """What the text holds. `zone`: that of times that name none.

    Raises:
        ValueError: it is no such table, counters are rates, or times name no zone and none is given.
    """
    rows = csv.reader(lines)
    head = next(rows, [])
    if head[:1] != ["Time"]:
        raise ValueError("its first column is not Time: it is no table of pmrep")
    recorded = Recorded("pcp", host, {"nodename": host})
    fields = [_NAME.fullmatch(name) for name in head]
    keys: set[str] = set()
    for row in rows:
        if row[:1] == head[:1] or not row or not row[0]:
            continue
        at = datetime.fromisoformat(row[0])
        if at.tzinfo is None and zone is None:
            raise ValueError("its times name no zone")
        at_ms = int((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000)
        for field, text in zip(fields[1:], row[1:], strict=False):
            if field is not None and text not in ("", "N/A", "?"):
                keys.update(_note(recorded, field[1], field[2] or "", text, at_ms))
    recorded.notes += [
        f"{name}: not in the archive. {_WHERE[name]}." for name, several in NEEDED.items() if not keys & set(several)
    ]
    return recorded


def _note(recorded: Recorded, name: str, instance: str, text: str, at_ms: int) -> Iterable[str]:
    """Notes a value; returns the keys of the counters that it gives."""
    if name in _ABOUT:
        recorded.about[_ABOUT[name]] = text
        return ()
    if name == "kernel.all.uptime":
        recorded.add("pcp_boot_time_seconds", at_ms, round(at_ms / 1000 - float(text)))
        return ()
    metric = name.replace(".", "_")
    labels = {"instname": instance} if instance else {}
    found = find_other({"__name__": metric, "hostname": "x", **labels})
    if found is None or found[0] != "pcp":
        return ()
    if "." in text and (metric.startswith("mem_vmstat_") or "pressure" in metric):
        raise ValueError(f"{name} has fractions, so that counters are rates there: print it with -r")
    recorded.add(metric, at_ms, float(text), **labels)
    return [key for key, _ in found[1]]
