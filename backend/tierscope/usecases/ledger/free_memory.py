"""Free memory of the top tier against the kernel's watermarks over time, summed over hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import FigureStatus, Series, gaps_to_none
from tierscope.domain.counters.names import describe_counter
from tierscope.domain.counters.series import Lines
from tierscope.domain.ledger.flows import sum_series
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.storage.base.layouts import host_layout_ids, read_layouts
from tierscope.storage.base.subjects import SubjectHost, newest_inventories
from tierscope.usecases.counters.service_lines import read_lines

Floats = npt.NDArray[np.float64]
MARKS = (("min", "Min watermark"), ("low", "Low watermark"), ("high", "High watermark"))
FREE = "top_free_bytes"
_NO_TOP = "The inventory does not say which nodes are the top tier."
_NOT_SENT = "No host sent free memory of the nodes of the top tier in this time."


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Lines on one grid; `series` is empty unless `status` is ok. Watermarks are missing where zones are not sent."""

    status: FigureStatus
    reason: str | None
    series: tuple[Series, ...]


def read_free_memory(session: ReadSession, hosts: Sequence[SubjectHost], grid: Grid, *, now: datetime) -> FreeMemory:
    """Free bytes of the top tier and the sums of its zones' watermarks, each summed over the hosts that send it."""
    inventories = newest_inventories(session, [host.id for host in hosts], grid.window.end)
    machines = {host.id: read_machine(inventories.get(host.id)) for host in hosts}
    if not any(machine.tiers.top_nodes for machine in machines.values()):
        return FreeMemory("not_supported", _NO_TOP, ())
    found: dict[str, list[Floats]] = {}
    for host in hosts:
        for name, line in _host_lines(session, host, machines[host.id], grid, now).items():
            found.setdefault(name, []).append(line)
    labels = ((FREE, "Free in the top tier"), *MARKS)
    series = tuple(
        Series(_key(name), label, "bytes", gaps_to_none(sum_series(found[name])))
        for name, label in labels
        if name in found and np.isfinite(found[name]).any()
    )
    if not series or series[0].key != FREE:
        return FreeMemory("not_collected", _NOT_SENT, ())
    return FreeMemory("ok", None, series)


def _key(name: str) -> str:
    return name if name == FREE else f"top_{name}_watermark_bytes"


def _host_lines(
    session: ReadSession, host: SubjectHost, machine: Machine, grid: Grid, now: datetime
) -> dict[str, Floats]:
    """Lines of one host by name, in bytes; a bucket in which a node or zone is missing has none."""
    nodes = sorted(machine.tiers.top_nodes)
    layouts = read_layouts(session, host_layout_ids(session, host.id)).values()
    sent = sorted({key for keys in layouts for key in keys})
    free = [f"node:{node}|meminfo|MemFree" for node in nodes]
    pages = [f"node:{node}|vmstat|nr_free_pages" for node in nodes]
    zones = tuple(f"zone:{node}/" for node in nodes)
    in_bytes = set(free) <= set(sent)
    parts: dict[str, list[str]] = {FREE: free if in_bytes else [key for key in pages if key in sent]}
    for name, _ in MARKS:
        parts[name] = [key for key in sent if key.startswith(zones) and key.endswith(f"|zoneinfo|{name}")]
    counters = [describe_counter(key) for keys in parts.values() for key in keys]
    if not nodes or not counters:
        return {}
    lines = read_lines(session, host, counters, grid.window, grid, now=now, max_points=len(grid))
    if lines is None:
        return {}
    scale = {name: 1 if name == FREE and in_bytes else machine.page_bytes for name in parts}
    return {
        name: _sum(lines, keys, grid) * factor
        for name, keys in parts.items()
        if set(keys) & set(lines.keys) and (factor := scale[name]) is not None
    }


def _sum(lines: Lines, keys: Sequence[str], grid: Grid) -> Floats:
    columns = [lines.values[:, lines.keys.index(key)] for key in keys if key in lines.keys]
    total: Floats = np.sum(columns, axis=0)
    same = len(lines.times_s) == len(grid) and np.array_equal(lines.times_s, grid.ends_s)
    return total if same else grid.means(lines.times_s, total)
