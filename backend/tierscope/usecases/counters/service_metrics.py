"""Reads of what a service says of itself: throughput, load and latency over its hosts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.counters.names import KnownCounter, describe_counter
from tierscope.domain.counters.packing import Block
from tierscope.domain.counters.series import Lines, binned_lines
from tierscope.domain.counters.service_metrics import NAMES, SOURCE, HostMetrics, combine, count_reporting
from tierscope.storage.base.layouts import layouts_of_hosts, read_layouts
from tierscope.storage.base.subjects import SubjectHost, hosts_of_service
from tierscope.storage.counters.rows import layouts_in_each
from tierscope.storage.fleet.services import read_aliases
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.sources import read_rollup_lines, read_samples, samples_fit

MAX_HOSTS = 100
_NOMINAL_SECONDS = 60.0
Sender = tuple[int, list[KnownCounter]]
"""A host by its id, and what it sends of the service."""
_NOT_MAPPED = (
    "No host sends throughput, load or latency of this service. Map them under `[[service_metrics]]` in the agent's"
    " configuration: a Prometheus endpoint or a file."
)
_NO_SAMPLES = "The hosts of this service sent no such figures in the window."


@dataclass(frozen=True, slots=True)
class ServiceMetrics:
    """Throughput and load summed over hosts, p50 of the median host, p99 of the slowest one; or why there is none."""

    service_id: str
    window: Window
    axis: TimeAxis
    status: Literal["ok", "not_collected"]
    reason: str | None
    n_hosts: Annotated[int, Described("Hosts that reported in the window.")]
    of_hosts: Annotated[int, Described("Hosts that ever did.", as_of="now")]
    series: Annotated[
        tuple[Series, ...], Described("Keys: throughput, load, latency_p50, latency_p99; those that exist.")
    ]
    warnings: tuple[str, ...]


class ServiceMetricReads(ContextUseCase):
    """Reads of service metrics."""

    def read(self, public_id: str, *, from_: str | None, to: str | None, max_points: int) -> ServiceMetrics:
        """Throughput, load and latency of a service over its hosts.

        Raises:
            NotFound: there is no such service.
            BadRequest: the window is not understood.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service = require_service(session, public_id)
            names = (f"{service.namespace}/{service.name}", *read_aliases(session, service.id))
            wanted = frozenset(f"service:{name}|{SOURCE}|{metric}" for name in names for metric in NAMES)
            senders = _find_senders(session, hosts_of_service(session, service.id), wanted)
            axis, hosts = _read_hosts(session, senders[:MAX_HOSTS], window, now=now, max_points=max_points)
        lines = combine(hosts)
        if not lines:
            reason = _NO_SAMPLES if senders else _NOT_MAPPED
            return ServiceMetrics(public_id, window, axis, "not_collected", reason, 0, len(senders), (), ())
        warnings = (f"the first {MAX_HOSTS} of {len(senders)} hosts",) if len(senders) > MAX_HOSTS else ()
        series = tuple(Series(line.key, line.label, line.unit, gaps_to_none(line.values)) for line in lines)
        reporting = count_reporting(hosts)
        return ServiceMetrics(public_id, window, axis, "ok", None, reporting, len(senders), series, warnings)


def _find_senders(session: ReadSession, hosts: list[SubjectHost], wanted: frozenset[str]) -> list[Sender]:
    """Hosts that ever sent any of these keys, with the keys."""
    by_host = layouts_of_hosts(session, [host.id for host in hosts])
    layouts = read_layouts(session, {layout_id for ids in by_host.values() for layout_id in ids})
    held = {layout_id: wanted.intersection(keys) for layout_id, keys in layouts.items()}
    found = []
    for host in hosts:
        keys = sorted({key for layout_id in by_host.get(host.id, ()) for key in held.get(layout_id, ())})
        if keys:
            found.append((host.id, [describe_counter(key) for key in keys]))
    return found


def _read_hosts(
    session: ReadSession,
    senders: list[tuple[int, list[KnownCounter]]],
    window: Window,
    *,
    now: datetime,
    max_points: int,
) -> tuple[TimeAxis, list[HostMetrics]]:
    if samples_fit(window, now):
        sent = layouts_in_each(session, [host_id for host_id, _ in senders], window.start, window.end)
        blocks = [
            (counters, read_samples(session, host_id, [counter.key for counter in counters], window, sent[host_id]))
            for host_id, counters in senders
        ]
        steps = [nominal_step(block.times_us / 1e6) for _, block in blocks if len(block) > 1]
        grid = make_grid(window, interval_s=max(steps, default=_NOMINAL_SECONDS), max_points=max_points)
        return grid.axis(), [_of_samples(block, counters, grid) for counters, block in blocks if len(block)]
    axis, hosts = make_grid(window, interval_s=_NOMINAL_SECONDS, max_points=max_points).axis(), []
    for host_id, counters in senders:
        axis, lines = read_rollup_lines(session, host_id, counters, window, now=now, max_points=max_points)
        if lines is not None:
            hosts.append(_of_lines(lines))
    return axis, hosts


def _of_samples(block: Block, counters: list[KnownCounter], grid: Grid) -> HostMetrics:
    kinds = {counter.key: counter.kind for counter in counters}
    return _of_lines(binned_lines(block, grid, tuple(kinds[key] for key in block.keys)))


def _of_lines(lines: Lines) -> HostMetrics:
    names = [describe_counter(key) for key in lines.keys]
    return HostMetrics(
        values={counter.name: lines.values[:, i] for i, counter in enumerate(names)},
        per_s={counter.name: lines.per_s[:, i] for i, counter in enumerate(names) if counter.kind == "counter"},
    )
