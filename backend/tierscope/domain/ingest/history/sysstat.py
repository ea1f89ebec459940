"""Samples of sysstat: exact from what `sadf -r -U -O debug` prints of an `sa` file, by rates from `sadf -j`.

Raw output has the counters at both ends of each interval and the uptime of each record. JSON has rates per second with
two digits, and intervals in whole seconds: counts are their product, summed from the beginning of each file and from
each restart. Taken are columns that one line of the kernel gives. `pgsteal` sums lines by reclaimer and by kind, so
that each page counts twice, and `pgscand` adds throttled tasks to pages: both are left out. sysstat writes 0 for a line
that the kernel does not have. Sources: sysstat 12.6.1 and 12.7.5, `rd_stats.c`, `raw_stats.c`, `json_stats.c`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tierscope.domain.ingest.history.recorded import Recorded

SAR_OPTIONS = ("-B", "-W", "-r", "ALL", "-S", "-q", "PSI")
"""What of a file is asked for: paging, swapping, memory, swap space, pressure."""
LEFT_OUT = "pgsteal and pgscand are not taken: sysstat sums lines of the kernel that count a page twice"
_KIB = 1024.0
_COUNTERS = {
    "pgpgin": "pgpgin",
    "pgpgout": "pgpgout",
    "fault": "pgfault",
    "majflt": "pgmajfault",
    "pgfree": "pgfree",
    "pgscank": "pgscan_kswapd",
    "pgprom": "pgpromote_success",
    "pgdem": "pgdem",
    "pswpin": "pswpin",
    "pswpout": "pswpout",
}
_MOVES = {"pgpromote_success": (5, 18), "pgdem": (5, 15)}
"""Since which kernel the lines of tier moves are there: before, 0 says nothing (distributions carry them back)."""
_MEMORY = {
    "memfree": "MemFree",
    "avail": "MemAvailable",
    "ttlmem": "MemTotal",
    "buffers": "Buffers",
    "cached": "Cached",
    "active": "Active",
    "inact": "Inactive",
    "inactive": "Inactive",
    "dirty": "Dirty",
    "anonpg": "AnonPages",
    "slab": "Slab",
    "kstack": "KernelStack",
    "pgtbl": "PageTables",
    "swpfree": "SwapFree",
    "ttlswp": "SwapTotal",
    "swpcad": "SwapCached",
}
_RESOURCES = {"cpu": "cpu", "io": "io", "mem": "memory"}
_PRESSURE = {f"%{kind[0]}{short}": f"{name}_{kind}" for kind in ("some", "full") for short, name in _RESOURCES.items()}
_RECORD = re.compile(r"# uptime_cs; (\d+); ust_time; (\d+);.*record_type; (\d+);")
_STATISTICS, _RESTART = 1, 2
_HEADER = re.compile(r"^Host: (\S+) (\S+) \((.*?)\)\s.*?\s_(\w+)_\s", re.MULTILINE)
_VERSION = re.compile(r"^File created by .* version (\S+)", re.MULTILINE)


def read_raw(header: str, text: str) -> Recorded:
    """What a file holds. `header`: of `sadf -H`, `text`: of `sadf -r -U -O debug`.

    Raises:
        ValueError: the header is none.
    """
    said, version = _HEADER.search(header), _VERSION.search(header)
    if said is None:
        raise ValueError("sadf -H prints no line of the host")
    about = {"release": said[2], "nodename": said[3], "machine": said[4], "version": version[1] if version else ""}
    recorded = Recorded("sysstat", said[3], about)
    at_ms = 0
    before: dict[int, int] = {}  # the first activity alone is printed with the records that others are held against
    for line in text.splitlines():
        record = _RECORD.match(line)
        if record is not None and int(record[3]) == _STATISTICS:
            last_ms, at_ms = at_ms, int(record[2]) * 1000
            before.setdefault(at_ms, last_ms if last_ms < at_ms else 0)
            recorded.add("sysstat_boot_time_seconds", at_ms, int(record[2]) - round(int(record[1]) / 100))
        elif record is not None and int(record[3]) == _RESTART:
            at_ms = 0
        elif line.startswith(f"{at_ms // 1000};"):
            for name, values in _raw_values(line.split(";")[1:]):
                _note_raw(recorded, name, values, before[at_ms], at_ms)
    if not any(metric.startswith("sysstat_vmstat_") for metric, _ in recorded.columns):
        return recorded
    _drop_unknown_moves(recorded, said[2])
    return recorded


def _raw_values(parts: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    """Names with the numbers behind them: one of a state, two of a counter (before, now)."""
    name, values = "", list[float]()
    for part in (*map(str.strip, parts), ""):
        if re.fullmatch(r"-?\d+(\.\d+)?", part):
            values.append(float(part))
            continue
        if name:
            yield name, values
        name, values = part, []


def _note_raw(recorded: Recorded, name: str, values: Sequence[float], before_ms: int, at_ms: int) -> None:
    if len(values) == 1 and name.removeprefix("kb") in _MEMORY and name.startswith("kb"):
        recorded.add(f"sysstat_meminfo_{_MEMORY[name.removeprefix('kb')]}", at_ms, values[0] * _KIB)
    elif len(values) == 2:  # noqa: PLR2004 - before and now
        counter = _COUNTERS.get(name.removesuffix("/s"))
        metric = f"sysstat_vmstat_{counter}" if counter else f"sysstat_pressure_{_PRESSURE.get(name, '')}"
        if counter or name in _PRESSURE:
            if before_ms:
                recorded.add(metric, before_ms, values[0])
            recorded.add(metric, at_ms, values[1])


def read_json(host: Mapping[str, Any], zone: ZoneInfo | None) -> Recorded:
    """What one entry of `hosts` of `sadf -j` holds. `zone`: that of times that are not in UTC.

    Raises:
        ValueError: a time is in another zone, and `zone` is None; KeyError, TypeError: it is no such entry.
    """
    release = str(host.get("release", ""))
    about = {"nodename": str(host["nodename"]), "release": release, "machine": str(host.get("machine", ""))}
    recorded = Recorded("sysstat", about["nodename"], {**about, "form": "rates"})
    marks = [(boot["boot"], None) for boot in host.get("restarts", []) if "boot" in boot]
    rows = [*marks, *((row["timestamp"], row) for row in host["statistics"] if "timestamp" in row)]
    timed = sorted(((_at_ms(stamp, zone), stamp, row) for stamp, row in rows), key=lambda one: (one[0], one[2] is None))
    before_ms = last_ms = first_ms = 0
    sums: dict[str, float] = {}
    doubt = 0.0
    for at_ms, stamp, row in timed:
        seconds = 0 if row is None else int(stamp.get("interval", 0))
        if row is None or seconds <= 0:
            before_ms, last_ms, sums = 0, at_ms, {}  # what grew in no time, or before a restart, is not told
            continue
        start_ms = before_ms or max(at_ms - seconds * 1000, last_ms)
        doubt = max(doubt, 0.5 / seconds)
        for metric, rate in _rates(row):
            if not before_ms:
                recorded.add(metric, start_ms, 0.0, form="rates")
            sums[metric] = sums.get(metric, 0.0) + rate * seconds
            recorded.add(metric, at_ms, round(sums[metric]), form="rates")
        for name, value in _states(row):
            recorded.add(f"sysstat_meminfo_{name}", at_ms, value * _KIB, form="rates")
        if not before_ms:
            first_ms = start_ms
            recorded.add("sysstat_boot_time_seconds", start_ms, start_ms / 1000, form="rates")
        recorded.add("sysstat_boot_time_seconds", at_ms, first_ms / 1000, form="rates")
        before_ms = last_ms = at_ms
    if doubt:
        recorded.notes.append(
            f"counts are rates per second times whole seconds, within {min(doubt, 1):.2g} of each: the `sa` files "
            "themselves have the counters"
        )
    _drop_unknown_moves(recorded, release)
    return recorded


def _at_ms(stamp: Mapping[str, Any], zone: ZoneInfo | None) -> int:
    at = datetime.fromisoformat(f"{stamp['date']} {stamp['time']}")
    if stamp.get("utc") == 1 or stamp.get("tz") == "UTC":
        return int(at.replace(tzinfo=UTC).timestamp() * 1000)
    if zone is None:
        raise ValueError(f"its times are in the zone {stamp.get('tz', 'of the host')}, which does not tell an offset")
    return int(at.replace(tzinfo=zone).timestamp() * 1000)


def _rates(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Counters with what they grew by in a second. Pressure is in percent of the time."""
    for part in ("paging", "swap-pages"):
        for name, rate in row.get(part, {}).items():
            if name in _COUNTERS:
                yield f"sysstat_vmstat_{_COUNTERS[name]}", float(rate)
    for short, resource in _RESOURCES.items():
        for kind in ("some", "full"):
            share = row.get("psi", {}).get(f"psi-{short}", {}).get(f"{kind}_avg")
            if share is not None:
                yield f"sysstat_pressure_{resource}_{kind}", float(share) * 1e4


def _states(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Memory in KiB. JSON has no total: it is what is used and what is not, held against the share that is used."""
    memory = row.get("memory", {})
    for name, value in memory.items():
        if name in _MEMORY:
            yield _MEMORY[name], float(value)
    parts = [float(memory.get(name, 0)) for name in ("memused", "memfree", "buffers", "cached", "slab")]
    for total in (sum(parts), sum(parts[:2])):
        # 12.1 and later count buffers, caches and slab as not used, earlier ones as used.
        if total and abs(parts[0] / total - float(memory.get("memused-percent", -1)) / 100) < 1e-4:  # noqa: PLR2004
            yield "MemTotal", total
            return


def _drop_unknown_moves(recorded: Recorded, release: str) -> None:
    """Leave out moves that are zero throughout where the kernel may not count them, and say which are not there."""
    told = re.match(r"(\d+)\.(\d+)", release)
    kernel = (int(told[1]), int(told[2])) if told else (0, 0)
    form = (("form", "rates"),) if "form" in recorded.about else ()
    columns = {name: recorded.columns.get((f"sysstat_vmstat_{name}", form)) for name in _MOVES}
    if not any(columns.values()):
        recorded.notes.append(
            "promotions and demotions are not collected: sysstat records them from 12.7 on, this is of an earlier one"
        )
    for name, since in _MOVES.items():
        column = columns[name]
        if column and not any(column.values()) and kernel < since:
            del recorded.columns[f"sysstat_vmstat_{name}", form]
            what = "promotions" if name == "pgpromote_success" else "demotions"
            recorded.notes.append(
                f"{what} are not known: sysstat writes 0 where a kernel has no such line, and {release} may have none"
            )
    recorded.notes.append("memory by node is not collected: sysstat never records it, so tiers are not known")
    recorded.notes.append(LEFT_OUT)
