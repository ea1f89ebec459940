"""The panel of sensitivity: host-intervals in which throughput, load and the memory in DRAM are all known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.counters.service_metrics import LOAD, RATE, SOURCE, TOTAL
from tierscope.domain.sensitivity.estimate import Panel, hour_of_week
from tierscope.domain.sensitivity.kind_residency import Name
from tierscope.usecases.counters.service_lines import HostLines
from tierscope.usecases.sensitivity.kind_residency import HostResidency

Floats = npt.NDArray[np.float64]
Measure = Literal["throughput", "throughput_per_cpu_second"]

CPU: Name = ("cpu.stat", "usage_usec")
ANON, FILE, TMPFS = range(3)
LOAD_SHARE = 0.5
"""Share of host-intervals that must know the load for the panel to use it, and them alone."""
CPU_SHARE = 0.9
"""The same for CPU time; the first interval after a gap has none."""
FOLLOWS = 0.95
"""Correlation of throughput and load from which throughput says no more than load."""
_MILLI, _MICRO = 1e-3, 1e-6
_NO_THROUGHPUT = (
    "No throughput of this service in the window. Map it under `[[service_metrics]]` in the agent's configuration:"
    " a Prometheus endpoint or a file."
)
_NO_PLACEMENT = (
    "It is not known how much anon and file memory of this service lies in DRAM: it needs counters of its control"
    " groups by node, or heat that tells tiers, and an inventory that says which node is in which tier."
)
_NO_OVERLAP = "Throughput and the memory in DRAM are known, and in no interval of one host both at once."


@dataclass(frozen=True, slots=True)
class PanelRows:
    """The panel with what is needed to show it: rows [n] in the panel's order. `lacking` says why there is none."""

    panel: Panel | None
    measure: Measure | None
    interval_seconds: float
    host_ids: tuple[str, ...]
    times_s: Floats
    throughput: Floats
    lacking: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Host:
    """One host over the buckets [b], NaN where not known."""

    public_id: str
    anon: Floats
    file: Floats
    throughput: Floats
    cpu_seconds_per_s: Floats
    load: Floats

    def known(self, *, with_load: bool, with_cpu: bool) -> npt.NDArray[np.bool_]:
        """Buckets in which all that is needed is above zero."""
        ok = (self.anon > 0) & (self.file > 0) & (self.throughput > 0)
        if with_load:
            ok &= self.load > 0
        if with_cpu:
            ok &= self.cpu_seconds_per_s > 0
        return ok


def is_measure(source: str, name: str) -> bool:
    """Whether a counter of a service's scope is its throughput, load or CPU time."""
    return (source == SOURCE and name in (TOTAL, RATE, LOAD)) or (source, name) == CPU


def join_panel(residency: Sequence[HostResidency], lines: Sequence[HostLines], grid: Grid) -> PanelRows:
    """Join what hosts know on one grid. Throughput is taken per CPU second where CPU time is known."""
    by_host = {part.host.id: part for part in lines}
    found = [_host(part, by_host.get(part.host.id), len(grid)) for part in residency]
    hosts = [host for host in found if host is not None]
    notes = ("File memory includes tmpfs and other shared memory.",)
    lacking = _lacking(hosts, lines)
    if lacking:
        return _nothing(lacking, grid, notes)
    plain = [host.known(with_load=False, with_cpu=False) for host in hosts]
    total = sum(int(ok.sum()) for ok in plain)
    with_cpu = _share(hosts, total, with_load=False, with_cpu=True) >= CPU_SHARE
    with_load = _share(hosts, total, with_load=True, with_cpu=with_cpu) >= LOAD_SHARE
    kept = [host.known(with_load=with_load, with_cpu=with_cpu) for host in hosts]
    return _panel(hosts, kept, grid, with_load=with_load, with_cpu=with_cpu, notes=notes)


def _share(hosts: Sequence[_Host], total: int, *, with_load: bool, with_cpu: bool) -> float:
    return sum(int(host.known(with_load=with_load, with_cpu=with_cpu).sum()) for host in hosts) / total


def _panel(
    hosts: Sequence[_Host],
    kept: Sequence[npt.NDArray[np.bool_]],
    grid: Grid,
    *,
    with_load: bool,
    with_cpu: bool,
    notes: tuple[str, ...],
) -> PanelRows:
    def gather(name: str) -> Floats:
        return np.concatenate([getattr(host, name)[ok] for host, ok in zip(hosts, kept, strict=True)])

    bucket = np.concatenate([np.flatnonzero(ok) for ok in kept])
    times_s = grid.ends_s[bucket].astype(np.float64)
    throughput = gather("throughput")
    work = throughput / gather("cpu_seconds_per_s") if with_cpu else throughput
    load = gather("load") if with_load else None
    follows = load is not None and not with_cpu and _follows(throughput, load)
    panel = Panel(
        host=np.repeat(np.arange(len(hosts)), [int(ok.sum()) for ok in kept]),
        interval=bucket,
        calendar=hour_of_week(times_s - grid.step_s),
        anon_bytes=gather("anon"),
        file_bytes=gather("file"),
        throughput=work,
        load=load,
    )
    return PanelRows(
        panel=panel,
        measure="throughput_per_cpu_second" if with_cpu else "throughput",
        interval_seconds=float(grid.step_s),
        host_ids=tuple(host.public_id for host in hosts),
        times_s=times_s,
        throughput=throughput,
        lacking="",
        notes=notes,
        warnings=("throughput follows load: the service is not saturated, so that memory can hardly show",)
        if follows
        else (),
    )


def _follows(throughput: Floats, load: Floats) -> bool:
    """Whether throughput just equals demand."""
    if load.std() == 0 or throughput.std() == 0:
        return False
    return float(np.corrcoef(np.log(throughput), np.log(load))[0, 1]) >= FOLLOWS


def _host(part: HostResidency, lines: HostLines | None, length: int) -> _Host | None:
    if lines is None:
        return None
    nothing = np.full(length, np.nan)
    top = part.bytes.top
    file = np.where(np.isfinite(top[:, FILE]), top[:, FILE] + np.nan_to_num(top[:, TMPFS]), top[:, TMPFS])
    anon = top[:, ANON]
    if np.isfinite(anon).any() and not np.isfinite(file).any():
        file = np.where(np.isfinite(anon), 0.0, np.nan)
    rate = lines.per_s.get((SOURCE, TOTAL), lines.values.get((SOURCE, RATE), nothing))
    return _Host(
        public_id=part.host.public_id,
        anon=_at_least_a_byte(anon),
        file=_at_least_a_byte(file),
        throughput=rate * _MILLI,
        cpu_seconds_per_s=lines.per_s.get(CPU, nothing) * _MICRO,
        load=lines.values.get((SOURCE, LOAD), nothing) * _MILLI,
    )


def _at_least_a_byte(values: Floats) -> Floats:
    """A kind of which there never is any is constant, and refused as such: one byte has a logarithm."""
    out: Floats = np.where(values == 0, 1.0, values) if not np.nansum(values) else values
    return out


def _lacking(hosts: Sequence[_Host], lines: Sequence[HostLines]) -> str:
    """Why there is no panel, empty where there is one."""
    metrics = [{*part.per_s, *part.values} for part in lines]
    if not any((SOURCE, TOTAL) in names or (SOURCE, RATE) in names for names in metrics):
        return _NO_THROUGHPUT
    if not any(np.isfinite(host.anon).any() for host in hosts):
        return _NO_PLACEMENT
    if not any(host.known(with_load=False, with_cpu=False).any() for host in hosts):
        return _NO_OVERLAP
    return ""


def _nothing(lacking: str, grid: Grid, notes: tuple[str, ...]) -> PanelRows:
    none = np.zeros(0)
    return PanelRows(None, None, float(grid.step_s), (), none, none, lacking, notes, ())
