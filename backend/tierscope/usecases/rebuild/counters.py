"""From raw counters: the ledger of tier moves, metrics of ten minutes, an hour and a day, packed hours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US, THIRTY_DAYS_US, bucket_start
from tierscope.domain.base.jobs import (
    COUNTERS,
    COUNTERS_CLOSED,
    COUNTERS_PACK,
    FLEET_MOVES,
    METRICS_1D,
    METRICS_1D_PACK,
    METRICS_1H,
    METRICS_PACK,
    RULE_DAYS,
    SERVICE_MOVES_1H,
    TIER_MOVE_DAYS,
)
from tierscope.domain.counters.monotonic import nominal_step, parse_key
from tierscope.domain.counters.names import find_metric
from tierscope.domain.counters.packing import Block, join_blocks
from tierscope.domain.counters.rollups import merge_rollups, roll_up
from tierscope.domain.ledger import Ledger, Plan, block_ledger
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us, to_us
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.subjects import newest_inventories, service_scopes
from tierscope.storage.counters.rollup_blocks import MetricsTable
from tierscope.storage.counters.rollups import pack_rollups, read_metrics, replace_metrics
from tierscope.storage.counters.rows import find_after, find_before, read_block, read_parts, replace_packed
from tierscope.storage.ledger.days import pack_days
from tierscope.storage.ledger.rows import first_after, holds_ledger, replace_ledger
from tierscope.usecases.alerts.judging import judge_intervals
from tierscope.usecases.base.spans import Span, coarser, join_spans
from tierscope.usecases.rebuild.late_days import reopen_capacity
from tierscope.usecases.rebuild.recent import rebuild_recent
from tierscope.usecases.rebuild.rule_inputs import RuleInputs, not_recorded

_HOUR = timedelta(hours=1)
_SAME_SECONDS = 0.001
"""Ends of intervals are the same within this: the ledger stores distances in floating point."""


def rebuild_counters(transaction: WriteTransaction, claimed: Claim) -> None:
    """Rebuild ledger and 10-minute metrics of one host, and mark what stands on them.

    Buckets that are still open are marked to be rebuilt again once they have closed.
    """
    inventory = _rebuild(transaction, claimed)[1]
    rebuild_recent(transaction, claimed.subject_id, inventory)
    closed = COUNTERS_CLOSED.due_before(claimed.now or utc_now(), claimed.held)
    opened = [bucket for bucket in claimed.buckets if bucket >= closed]
    dirty_buckets.append(transaction, COUNTERS_CLOSED.kind, claimed.subject_id, 0, opened)


def rebuild_closed_counters(transaction: WriteTransaction, claimed: Claim) -> None:
    """The same for buckets whose rows were added one by one while they were open: mostly nothing differs."""
    changed, inventory = _rebuild(transaction, claimed)
    if changed:
        rebuild_recent(transaction, claimed.subject_id, inventory)
    dirty_buckets.append(transaction, RULE_DAYS.kind, claimed.subject_id, 0, coarser(claimed.buckets, DAY_US))


def _rebuild(transaction: WriteTransaction, claimed: Claim) -> tuple[bool, Mapping[str, Any] | None]:
    """Whether a row of the ledger was changed, and the host's inventory."""
    host_id = claimed.subject_id
    spans = join_spans(claimed.buckets, COUNTERS.width_us)
    inventory = newest_inventories(transaction, [host_id], spans[-1][1]).get(host_id)
    services = service_scopes(transaction, host_id)
    now = claimed.now or utc_now()
    inputs = RuleInputs(transaction, now=now)
    changed = [_Span(transaction, host_id, span, inventory, inputs, now).rebuild(services) for span in spans]
    for host, days in inputs.store().items():
        dirty_buckets.append(transaction, RULE_DAYS.kind, host, 0, days)
    broken = [bucket for _, end in spans for bucket in _find_broken(transaction, host_id, end)]
    dirty_buckets.append(transaction, COUNTERS.kind, host_id, 0, broken)
    dirty_buckets.append(transaction, METRICS_1H.kind, host_id, 0, coarser(claimed.buckets, HOUR_US))
    dirty_buckets.append(transaction, COUNTERS_PACK.kind, host_id, 0, coarser(claimed.buckets, HOUR_US))
    dirty_buckets.append(transaction, TIER_MOVE_DAYS.kind, host_id, 0, coarser(claimed.buckets, DAY_US))
    dirty_buckets.append(transaction, FLEET_MOVES.kind, 0, 0, claimed.buckets)
    for service_id in services:
        dirty_buckets.append(transaction, SERVICE_MOVES_1H.kind, 0, service_id, coarser(claimed.buckets, HOUR_US))
    return any(changed), inventory


def _find_broken(transaction: WriteTransaction, host_id: int, end: datetime) -> list[datetime]:
    """The bucket after `end` whose first difference does not begin at the newest sample before it.

    So it is after late data: that difference still spans the hole, and would count what has now come a second time.
    """
    base, sample = find_before(transaction, host_id, end), find_after(transaction, host_id, end)
    if base is None or sample is None:
        return []
    stored = first_after(transaction, host_id, end)
    if stored is not None and stored[0] == sample:
        begins_s = sample.timestamp() - stored[1]
        if abs(begins_s - base.timestamp()) < _SAME_SECONDS:
            return []
    return [from_us(bucket_start(to_us(sample), TEN_MINUTES_US))]


@dataclass(frozen=True, slots=True)
class _Span:
    """What is rebuilt of one host from the raw samples of (start, end]."""

    transaction: WriteTransaction
    host_id: int
    span: Span
    inventory: Mapping[str, Any] | None
    inputs: RuleInputs
    now: datetime

    def rebuild(self, services: Mapping[int, str]) -> bool:
        """Rebuild ledgers, rule inputs and metrics; whether a row of a ledger was changed."""
        start, end = self.span
        machine = read_machine(self.inventory)
        before = find_before(self.transaction, self.host_id, start)
        base = start if before is None else before - timedelta(microseconds=1)
        block = read_block(self.transaction, self.host_id, base, end)
        plan = machine.plan(block.keys)
        whole, changed = self._store_ledger(0, block, plan)
        self._judge(machine, block, whole, measured=plan.dialect == "tpp")
        scopes = {key.partition("|")[0] for key in block.keys if key.startswith("service:")}
        for service_id, scope in services.items():
            if scope in scopes:
                own, differs = self._store_ledger(service_id, block, machine.plan(block.keys, scope))
                changed = changed or differs
                fresh = self._not_recorded(service_id, own)
                if len(fresh):
                    self.inputs.add_service(self.host_id, machine, block, fresh, service_id, scope)
        self._store_metrics(block)
        return changed

    def _store_ledger(self, service_id: int, block: Block, plan: Plan) -> tuple[Ledger, bool]:
        """The rows of the span, and whether what was stored was another."""
        ledger = block_ledger(block, plan, after_s=self.span[0].timestamp())
        if holds_ledger(self.transaction, self.host_id, service_id, self.span, ledger, plan):
            return ledger, False
        replace_ledger(self.transaction, self.host_id, service_id, [self.span], ledger, plan)
        return ledger, True

    def _judge(self, machine: Machine, block: Block, ledger: Ledger, *, measured: bool) -> None:
        """Record what rules judge of the host's new intervals. `measured`: its kernel marks demoted pages."""
        fresh = self._not_recorded(0, ledger)
        if len(fresh):
            judged = judge_intervals(
                self.transaction, self.host_id, self.inventory, fresh, now=self.now, measured=measured
            )
            self.inputs.read_beside([self.host_id], self.span)
            self.inputs.add_host(self.host_id, machine, block, fresh, judged)

    def _not_recorded(self, service_id: int, ledger: Ledger) -> Ledger:
        return not_recorded(self.transaction, self.host_id, service_id, self.span, ledger, now=self.now)

    def _store_metrics(self, block: Block) -> None:
        kept = [i for i, key in enumerate(block.keys) if _is_kept(key)]
        narrow = Block(
            block.times_us,
            block.boots,
            block.boottimes_ns,
            block.flags,
            tuple(block.keys[i] for i in kept),
            block.values[:, kept],
            block.present[:, kept],
        )
        rollup = roll_up(
            narrow,
            frozenset(key for key in narrow.keys if _is_monotonic(key)),
            base_us=to_us(self.span[0]),
            width_us=TEN_MINUTES_US,
            nominal_s=nominal_step(block.times_us / 1e6),
        )
        replace_metrics(self.transaction, "metrics_10m", self.host_id, rollup)


def rebuild_metrics_1h(transaction: WriteTransaction, claimed: Claim) -> None:
    """Merge 10-minute metrics to hours, and mark their days."""
    _merge(transaction, claimed, fine="metrics_10m", coarse="metrics_1h", width_us=HOUR_US)
    dirty_buckets.append(transaction, METRICS_1D.kind, claimed.subject_id, 0, coarser(claimed.buckets, DAY_US))


def rebuild_metrics_1d(transaction: WriteTransaction, claimed: Claim) -> None:
    """Merge hourly metrics to days, and mark what can be packed some day."""
    _merge(transaction, claimed, fine="metrics_1h", coarse="metrics_1d", width_us=DAY_US)
    host_id = claimed.subject_id
    dirty_buckets.append(transaction, METRICS_PACK.kind, host_id, 0, claimed.buckets)
    dirty_buckets.append(transaction, METRICS_1D_PACK.kind, host_id, 0, coarser(claimed.buckets, THIRTY_DAYS_US))
    reopen_capacity(transaction, claimed)


def _merge(
    transaction: WriteTransaction, claimed: Claim, *, fine: MetricsTable, coarse: MetricsTable, width_us: int
) -> None:
    for span in join_spans(claimed.buckets, width_us):
        parts = read_metrics(transaction, fine, claimed.subject_id, span, None)
        replace_metrics(transaction, coarse, claimed.subject_id, merge_rollups(parts, width_us))


def pack_metrics(transaction: WriteTransaction, claimed: Claim) -> None:
    """Move metrics of ten minutes and of an hour of closed days into blocks."""
    for day in claimed.buckets:
        pack_rollups(transaction, "metrics_10m", claimed.subject_id, day)
        pack_rollups(transaction, "metrics_1h", claimed.subject_id, day)


def pack_metrics_1d(transaction: WriteTransaction, claimed: Claim) -> None:
    """The same with metrics of whole days, thirty in a block."""
    for start in claimed.buckets:
        pack_rollups(transaction, "metrics_1d", claimed.subject_id, start)


def pack_hours(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack closed hours of raw samples, exactly: what is packed already, and the rows that came since."""
    hours: list[tuple[datetime, list[Block]]] = []
    for hour in claimed.buckets:
        by_keys: dict[tuple[str, ...], list[Block]] = {}
        for part in read_parts(transaction, claimed.subject_id, hour, hour + _HOUR):
            by_keys.setdefault(part.keys, []).append(part)
        if by_keys:
            hours.append((hour, [join_blocks(by_keys[keys]) for keys in sorted(by_keys)]))
    replace_packed(transaction, claimed.subject_id, hours)


def pack_ledger_days(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack days of the ledger for which late data is no longer taken."""
    pack_days(transaction, claimed.subject_id, claimed.buckets)


@lru_cache(maxsize=65536)
def _is_kept(key: str) -> bool:
    """Whether the catalogue keeps the metric beyond raw samples."""
    parts = parse_key(key)
    metric = find_metric(parts.source, parts.name)
    return metric is not None and metric.rollup


@lru_cache(maxsize=65536)
def _is_monotonic(key: str) -> bool:
    parts = parse_key(key)
    metric = find_metric(parts.source, parts.name)
    return metric is not None and metric.kind == "counter"
