"""Rows of the live tables, encoded for COPY, from the batches of a group."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US, bucket_start
from tierscope.domain.base.jobs import GAP_DAYS
from tierscope.domain.ingest.arrival import Int64, Placed, boottime_of, place_times
from tierscope.domain.ingest.batch import CounterBlock, HeatBlock, SelfReport
from tierscope.storage import tables
from tierscope.storage.base import copy
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.dirty_buckets import append_missing
from tierscope.storage.base.live_rows import make_room
from tierscope.storage.ingest.boots import HostState
from tierscope.storage.ingest.heat_rows import gap_rows, heat_rows, tile_epoch_row, trace_row
from tierscope.storage.ingest.incoming import Incoming, StoreLimits
from tierscope.storage.ingest.registry import Registry

Mark = tuple[str, int, int, int]
"""(kind, subject, service, start of the bucket in microseconds)."""

_EPOCH_2000_US = 946_684_800 * 10**6


@dataclass(slots=True)
class Tally:
    """What became of one batch, as it adds up."""

    rows: Counter[str] = field(default_factory=Counter)
    too_late: int = 0
    set_aside: int = 0
    last_end_ns: int | None = None
    layout: tuple[int, int] | None = None
    """(end of the newest sample, layout id)."""
    corrected: int = 0
    warnings: list[str] = field(default_factory=list)
    ends_us: list[Int64] = field(default_factory=list)
    """Ends of the intervals whose counters are stored."""

    def count(self, placed: Placed) -> None:
        """Adds what placing in time decided."""
        self.too_late += placed.too_late
        self.set_aside += placed.set_aside
        self.corrected += int(placed.corrected.sum())
        if placed.keep.any():
            newest = int(placed.wall_ns[placed.keep].max())
            self.last_end_ns = newest if self.last_end_ns is None else max(self.last_end_ns, newest)


class Rows:
    """Collects the rows and marks of a group. Nothing is sent before `write`."""

    def __init__(self, registry: Registry, limits: StoreLimits) -> None:
        self._registry = registry
        self._limits = limits
        self._parts: dict[str, list[bytes]] = defaultdict(list)
        self._ends_us: list[int] = []
        """First and last ends of what goes to tables that are packed."""
        self._gap_days: set[tuple[int, datetime]] = set()
        self.marks: set[Mark] = set()

    def add(
        self,
        item: Incoming,
        state: HostState,
        tally: Tally,
        *,
        refused_layouts: set[int],
        refused_services: set[int],
        epochs: dict[int, int],
    ) -> None:
        """Adds all rows of a batch. `epochs` maps the host's known tile epochs to services and learns new ones."""
        for block in item.batch.counters:
            self._add_counters(item, state, tally, block, refused_layouts)
        for heat in item.batch.heat:
            self._add_heat(item, tally, heat, refused_services)
        self._add_gaps(item, tally, refused_services)
        self._add_tiles(item, tally, refused_services, epochs)
        self._add_page_samples(item, tally, refused_services)
        if item.batch.self_report is not None:
            self._add_self(item, tally, item.batch.self_report)

    def write(self, transaction: WriteTransaction, now: datetime) -> None:
        """Sends everything."""
        if self._ends_us:
            make_room(transaction, from_us(min(self._ends_us)), from_us(max(self._ends_us)), now=now)
        for name, parts in self._parts.items():
            copy.copy_rows(transaction, name, tables.metadata.tables[name].columns.keys(), parts)
        append_missing(transaction, GAP_DAYS.kind, self._gap_days)
        if self.marks:
            rows = [
                copy.row([copy.text(kind), copy.int8(subject), copy.int8(service), copy.instant(bucket * 1000)])
                for kind, subject, service, bucket in sorted(self.marks)
            ]
            copy.copy_rows(transaction, "marks", ("kind", "subject_id", "service_id", "bucket"), rows)

    def _add_counters(
        self, item: Incoming, state: HostState, tally: Tally, block: CounterBlock, refused: set[int]
    ) -> None:
        layout = self._registry.layout(block.layout_hash)
        n = len(block.end_wall_ns)
        if layout is None or layout.id in refused:
            tally.set_aside += n
            return
        boots = block.boot_ids or (item.batch.boot_id,) * n
        same = None if block.boot_ids is None else np.array([boot == item.batch.boot_id for boot in boots])
        placed = place_times(block.end_wall_ns, block.end_boottime_ns, same, item.clocks, self._limits.arrival)
        tally.count(placed)
        keep = placed.keep
        kept = int(keep.sum())
        if kept == 0:
            return
        refs = np.array([state.boots[boot].id for boot in boots], dtype=np.int64)
        ends_us = placed.wall_ns[keep] // 1000
        leading = [
            np.full(kept, item.host.id, dtype=np.int64),
            ends_us - _EPOCH_2000_US,
            np.full(kept, layout.id, dtype=np.int64),
            refs[keep],
            None if block.end_boottime_ns is None else block.end_boottime_ns[keep],
            np.where(placed.corrected[keep], tables.FLAG_CLOCK_CORRECTED, 0).astype(np.int16),
        ]
        present = None if block.present is None else block.present[keep]
        self._parts["counters_live"].append(copy.int8_matrix_rows(leading, block.values[keep], present))
        self._ends_us += [int(ends_us.min()), int(ends_us.max())]
        self._mark("counters", item.host.id, 0, ends_us, TEN_MINUTES_US)
        tally.ends_us.append(ends_us)
        tally.rows["counters"] += kept
        newest = int(ends_us.max())
        if tally.layout is None or newest >= tally.layout[0]:
            tally.layout = (newest, layout.id)

    def _add_heat(self, item: Incoming, tally: Tally, block: HeatBlock, refused: set[int]) -> None:
        placed = place_times(block.end_wall_ns, block.end_boottime_ns, None, item.clocks, self._limits.arrival)
        tally.count(placed)
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place in np.flatnonzero(placed.keep).tolist():
            service = self._registry.service(item.host.origin, block.services[place])
            groups[service, int(placed.wall_ns[place])].append(place)
        for key in [key for key in groups if key[0] in refused]:
            tally.set_aside += len(groups.pop(key))
        if not groups:
            return
        self._parts["heat_live"].append(heat_rows(item.host.id, block, groups))
        tally.rows["heat"] += len(groups)
        for service, end_ns in groups:
            self._ends_us.append(end_ns // 1000)
            self.marks.add(("heat", item.host.id, service, bucket_start(end_ns // 1000, TEN_MINUTES_US)))

    def _add_gaps(self, item: Incoming, tally: Tally, refused: set[int]) -> None:
        for block in item.batch.gaps:
            end_ns = self._place_one(item, tally, block.end_wall_ns)
            if end_ns is None:
                continue
            groups: dict[int, list[int]] = defaultdict(list)
            for place, key in enumerate(block.services):
                groups[self._registry.service(item.host.origin, key)].append(place)
            for service in groups.keys() & refused:
                del groups[service]
                tally.set_aside += 1
            if groups:
                self._parts["gaps"].append(gap_rows(item.host.id, end_ns, block, groups))
                self._gap_days.add((item.host.id, from_us(bucket_start(end_ns // 1000, DAY_US))))
                tally.rows["gaps"] += len(groups)

    def _add_tiles(self, item: Incoming, tally: Tally, refused: set[int], epochs: dict[int, int]) -> None:
        for epoch in item.batch.tile_epochs:
            service = self._registry.service(item.host.origin, epoch.service)
            start_ns = self._place_one(item, tally, epoch.start_wall_ns)
            if start_ns is None or service in refused:
                tally.set_aside += start_ns is not None
                continue
            epochs[epoch.epoch_id] = service
            self._parts["tile_epochs"].append(tile_epoch_row(item.host.id, service, start_ns, epoch))
            tally.rows["tile_epochs"] += 1
        unknown = 0
        for column in item.batch.tile_columns:
            known = epochs.get(column.epoch_id)
            if known is None:
                unknown += 1
                continue
            end_ns = self._place_one(item, tally, column.end_wall_ns)
            if end_ns is None:
                continue
            self._parts["tile_columns"].append(
                copy.row(
                    [
                        copy.int8(item.host.id),
                        copy.int8(known),
                        copy.instant(end_ns),
                        copy.int8(column.epoch_id),
                        copy.blob(column.cells),
                    ]
                )
            )
            self.marks.add(("tiles", item.host.id, known, bucket_start(end_ns // 1000, HOUR_US)))
            tally.rows["tile_columns"] += 1
        if unknown:
            tally.set_aside += unknown
            tally.warnings.append(f"{unknown} tile columns of an unknown epoch were quarantined")

    def _add_page_samples(self, item: Incoming, tally: Tally, refused: set[int]) -> None:
        for sample in item.batch.page_samples:
            service = self._registry.service(item.host.origin, sample.service)
            end_ns = self._place_one(item, tally, sample.end_wall_ns)
            if end_ns is None or service in refused:
                tally.set_aside += end_ns is not None
                continue
            self._parts["traces"].append(trace_row(item.host.id, service, end_ns, sample))
            tally.rows["traces"] += 1

    def _add_self(self, item: Incoming, tally: Tally, report: SelfReport) -> None:
        end_ns = self._place_one(item, tally, report.end_wall_ns)
        if end_ns is None:
            return
        numbers = (
            report.window_ns,
            report.cpu_ns,
            report.rss_bytes,
            report.spool_bytes,
            report.spool_batches,
            report.dropped_batches,
            report.sent_bytes,
            report.counters_dropped,
            report.services_dropped,
        )
        fields = [copy.int8(item.host.id), copy.instant(end_ns), *map(copy.int8, numbers)]
        fields.append(copy.jsonb(list(report.collectors)))
        fields += [copy.text(text or None) for text in (report.budget_state, report.heat_rung, report.budget_reason)]
        later = (report.guard_paused_intervals, report.samples_taken, report.samples_lost, report.throttles)
        self._parts["self_reports"].append(copy.row([*fields, *map(copy.int8, later)]))
        tally.rows["self_reports"] += 1

    def _place_one(self, item: Incoming, tally: Tally, wall_ns: int) -> int | None:
        """Places a single point that has no boot-time clock of its own; None where it is left out."""
        wall: Int64 = np.array([wall_ns], dtype=np.int64)
        placed = place_times(wall, boottime_of(wall, item.clocks), None, item.clocks, self._limits.arrival)
        tally.too_late += placed.too_late
        tally.set_aside += placed.set_aside
        return int(placed.wall_ns[0]) if placed.keep[0] else None

    def _mark(self, kind: str, host: int, service: int, ends_us: Int64, width_us: int) -> None:
        buckets: Sequence[int] = np.unique(bucket_start(ends_us, width_us)).tolist()
        self.marks.update((kind, host, service, bucket) for bucket in buckets)
