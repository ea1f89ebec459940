"""Counters of a service's own scope on each of its hosts, on one grid: samples while they are kept, else rollups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.monotonic import parse_key
from tierscope.domain.counters.names import KnownCounter, describe_counter
from tierscope.domain.counters.series import Lines, binned_lines
from tierscope.domain.sensitivity.kind_residency import Name
from tierscope.storage.base import subjects
from tierscope.storage.base.layouts import layouts_of_hosts, read_layouts
from tierscope.storage.base.subjects import SubjectHost, SubjectService
from tierscope.storage.counters.rows import layouts_in_each
from tierscope.storage.fleet.services import read_aliases
from tierscope.usecases.counters.sources import TABLES, read_rollup_lines, read_samples, samples_fit

Floats = npt.NDArray[np.float64]
NOMINAL_SECONDS = 60.0
Wanted = Callable[[str, str], bool]
"""Whether a counter is wanted, by its source and its name."""


@dataclass(frozen=True, slots=True)
class HostLines:
    """Lines of one host by source and name: `values` of gauges, `per_s` of counters [b], NaN in gaps."""

    host: SubjectHost
    names: frozenset[Name]
    values: dict[Name, Floats]
    per_s: dict[Name, Floats]


def service_scopes(session: ReadSession, service: SubjectService) -> tuple[str, ...]:
    """The scopes under which hosts count a service: by its name and by its aliases."""
    names = (f"{service.namespace}/{service.name}", *read_aliases(session, service.id))
    return tuple(f"service:{name}" for name in names)


def line_grid(window: Window, *, now: datetime, max_points: int) -> Grid:
    """The grid on which lines of this window come: as fine as what is kept."""
    if samples_fit(window, now):
        return make_grid(window, interval_s=NOMINAL_SECONDS, max_points=max_points)
    span, age = window.end - window.start, now - window.start
    width_s = next(width for _, width, longest, kept in TABLES if span <= longest and age <= kept)
    return make_grid(window, interval_s=float(width_s), max_points=max_points)


def read_service_lines(
    session: ReadSession,
    hosts: Sequence[SubjectHost],
    scopes: Sequence[str],
    wanted: Wanted,
    window: Window,
    *,
    now: datetime,
    max_points: int,
) -> list[HostLines]:
    """Lines of all wanted counters of these scopes, by host; hosts that never sent one are left out."""
    grid = line_grid(window, now=now, max_points=max_points)
    found = []
    ids = [host.id for host in hosts]
    layout_ids = layouts_of_hosts(session, ids)
    sent = layouts_in_each(session, ids, window.start, window.end) if samples_fit(window, now) else {}
    for host in hosts:
        counters = _counters(read_layouts(session, layout_ids.get(host.id, ())), scopes, wanted)
        if not counters:
            continue
        lines = read_lines(
            session, host, counters, window, grid, now=now, max_points=max_points, layout_ids=sent.get(host.id)
        )
        found.append(_by_name(host, counters, lines))
    return found


def read_lines_by_service(
    session: ReadSession, host: SubjectHost, wanted: Wanted, window: Window, *, now: datetime, max_points: int
) -> list[tuple[str, HostLines]]:
    """The same of each service on a host that has any, with the service's scope."""
    return [
        (scope, part)
        for scope in subjects.service_scopes(session, host.id).values()
        for part in read_service_lines(session, [host], [scope], wanted, window, now=now, max_points=max_points)
    ]


def _counters(layouts: Mapping[int, Sequence[str]], scopes: Sequence[str], wanted: Wanted) -> list[KnownCounter]:
    starts = tuple(f"{scope}|" for scope in scopes)
    found = set()
    for keys in layouts.values():
        for key in keys:
            if key.startswith(starts):
                parsed = parse_key(key)
                if wanted(parsed.source, parsed.name):
                    found.add(key)
    return [describe_counter(key) for key in sorted(found)]


def read_lines(
    session: ReadSession,
    host: SubjectHost,
    counters: Sequence[KnownCounter],
    window: Window,
    grid: Grid,
    *,
    now: datetime,
    max_points: int,
    layout_ids: Sequence[int] | None = None,
) -> Lines | None:
    """Lines of these counters of one host: samples on the grid while they are kept, else rollups on their own."""
    if not samples_fit(window, now):
        return read_rollup_lines(session, host.id, counters, window, now=now, max_points=max_points)[1]
    block = read_samples(session, host.id, [counter.key for counter in counters], window, layout_ids)
    if not len(block):
        return None
    kinds = {counter.key: counter.kind for counter in counters}
    return binned_lines(block, grid, tuple(kinds[key] for key in block.keys))


def _by_name(host: SubjectHost, counters: Sequence[KnownCounter], lines: Lines | None) -> HostLines:
    values: dict[Name, Floats] = {}
    per_s: dict[Name, Floats] = {}
    kinds = {counter.key: counter.kind for counter in counters}
    for column, key in enumerate(() if lines is None else lines.keys):
        assert lines is not None
        parsed = parse_key(key)
        name = (parsed.source, parsed.name)
        values[name] = _filled(values.get(name), lines.values[:, column])
        if kinds[key] == "counter":
            per_s[name] = _filled(per_s.get(name), lines.per_s[:, column])
    return HostLines(host, frozenset(values), values, per_s)


def _filled(before: Floats | None, line: Floats) -> Floats:
    """A service that was renamed has two scopes: one carries on where the other ends."""
    return line if before is None else np.where(np.isfinite(before), before, line)
