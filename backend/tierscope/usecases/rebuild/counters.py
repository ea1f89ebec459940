"""From raw counters: the ledger of tier moves, and metrics of ten minutes, an hour and a day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

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
    Job,
)
from tierscope.domain.counters.monotonic import nominal_step, parse_key
from tierscope.domain.counters.names import find_metric
from tierscope.domain.counters.packing import Block
from tierscope.domain.counters.rollups import Rollup, merge_rollups, roll_up
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.domain.ledger.plan import PickedPlan
from tierscope.domain.ledger.stacked import block_ledgers
from tierscope.storage.alerts.rule_inputs import stored_spans
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us, to_us
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.subjects import newest_inventories, scopes_of_hosts
from tierscope.storage.counters.rollups import MetricsTable, read_metrics, replace_metrics
from tierscope.storage.counters.rows import find_after, find_before, read_blocks
from tierscope.storage.ledger.rows import HeldLedgers, first_after, replace_ledger
from tierscope.usecases.alerts.judging import judge_intervals
from tierscope.usecases.base.spans import Span, coarser, join_spans
from tierscope.usecases.rebuild.late_days import mark_late_days
from tierscope.usecases.rebuild.recent import rebuild_recent
from tierscope.usecases.rebuild.rule_inputs import RuleInputs, not_recorded

Buckets = Mapping[int, Sequence[datetime]]
"""Claimed buckets by host, ascending."""
_SAME_SECONDS = 0.001
"""Ends of intervals are the same within this: the ledger stores distances in floating point."""


def rebuild_counters(transaction: WriteTransaction, claimed: Claim) -> None:
    """Rebuild ledger and 10-minute metrics of one host, and mark what stands on them.

    Buckets that are still open are marked to be rebuilt again once they have closed.
    """
    host_id, now = claimed.subject_id, claimed.now or utc_now()
    _, inventories = _rebuild(transaction, {host_id: claimed.buckets}, now)
    rebuild_recent(transaction, host_id, inventories.get(host_id))
    closed = COUNTERS_CLOSED.due_before(now, claimed.held)
    opened = [bucket for bucket in claimed.buckets if bucket >= closed]
    dirty_buckets.append(transaction, COUNTERS_CLOSED.kind, host_id, 0, opened)


def rebuild_closed_counters(transaction: WriteTransaction, claimed: Claim) -> None:
    """The same for buckets whose rows were added one by one while they were open: mostly nothing differs."""
    now = claimed.now or utc_now()
    rebuild_closed_counters_of_hosts(transaction, {claimed.subject_id: claimed.buckets}, now=now)


def rebuild_closed_counters_of_hosts(transaction: WriteTransaction, claimed: Buckets, *, now: datetime) -> None:
    """The same of many hosts: buckets by host."""
    changed, inventories = _rebuild(transaction, claimed, now)
    for host_id in sorted(changed):
        rebuild_recent(transaction, host_id, inventories.get(host_id))
    _mark(transaction, RULE_DAYS, claimed, DAY_US)


def _rebuild(
    transaction: WriteTransaction, claimed: Buckets, now: datetime
) -> tuple[set[int], Mapping[int, Mapping[str, Any]]]:
    """The hosts of which a row of a ledger was changed, and the inventories of all that have one."""
    by_span: dict[Span, list[int]] = {}
    by_end: dict[datetime, list[int]] = {}
    for host_id, buckets in claimed.items():
        spans = join_spans(buckets, COUNTERS.width_us)
        by_end.setdefault(spans[-1][1], []).append(host_id)
        for span in spans:
            by_span.setdefault(span, []).append(host_id)
    inventories: dict[int, Mapping[str, Any]] = {}
    for end, hosts in by_end.items():
        inventories |= newest_inventories(transaction, hosts, end)
    services = scopes_of_hosts(transaction, list(claimed))
    inputs = RuleInputs(transaction, now=now)
    changed: set[int] = set()
    for span, hosts in sorted(by_span.items()):
        changed |= _Span(transaction, span, inventories, services, inputs, now).rebuild(hosts)
    recorded = [(host_id, day) for host_id, days in inputs.store().items() for day in days]
    dirty_buckets.append_missing(transaction, RULE_DAYS.kind, recorded)
    broken = [found for (_, end), hosts in by_span.items() for found in _find_broken(transaction, hosts, end)]
    dirty_buckets.append_missing(transaction, COUNTERS.kind, broken)
    _mark(transaction, METRICS_1H, claimed, HOUR_US)
    _mark(transaction, COUNTERS_PACK, claimed, HOUR_US)
    _mark(transaction, TIER_MOVE_DAYS, claimed, DAY_US)
    dirty_buckets.append(transaction, FLEET_MOVES.kind, 0, 0, chain.from_iterable(claimed.values()))
    hours: dict[int, set[datetime]] = {}
    for host_id, buckets in claimed.items():
        for service_id in services[host_id]:
            hours.setdefault(service_id, set()).update(coarser(buckets, HOUR_US))
    for service_id, starts in hours.items():
        dirty_buckets.append(transaction, SERVICE_MOVES_1H.kind, 0, service_id, starts)
    return changed, inventories


def _mark(transaction: WriteTransaction, job: Job, claimed: Buckets, width_us: int) -> None:
    """Ask for the wider buckets of each host that hold its claimed ones."""
    wanted = [(host_id, start) for host_id, buckets in claimed.items() for start in coarser(buckets, width_us)]
    dirty_buckets.append_missing(transaction, job.kind, wanted)


def _find_broken(
    transaction: WriteTransaction, host_ids: Sequence[int], end: datetime
) -> Iterator[tuple[int, datetime]]:
    """Each host's bucket after `end` whose first difference does not begin at the newest sample before it.

    So it is after late data: that difference still spans the hole, and would count what has now come a second time.
    """
    bases = find_before(transaction, host_ids, end)
    samples = find_after(transaction, list(bases), end)
    stored = first_after(transaction, list(samples), end)
    for host_id, sample in samples.items():
        ends_at, seconds = stored.get(host_id, (None, 0.0))
        begins_s = sample.timestamp() - seconds
        if ends_at != sample or abs(begins_s - bases[host_id].timestamp()) >= _SAME_SECONDS:
            yield host_id, from_us(bucket_start(to_us(sample), TEN_MINUTES_US))


class _Part(NamedTuple):
    """A whole host (service 0, no scope) or a service on it, and how its ledger is made of the host's samples."""

    host_id: int
    service_id: int
    scope: str | None
    block: Block
    picked: PickedPlan


@dataclass(frozen=True, slots=True)
class _Span:
    """What is rebuilt of hosts from the raw samples of (start, end]."""

    transaction: WriteTransaction
    span: Span
    inventories: Mapping[int, Mapping[str, Any]]
    services: Mapping[int, Mapping[int, str]]
    inputs: RuleInputs
    now: datetime

    def rebuild(self, host_ids: Sequence[int]) -> set[int]:
        """Rebuild ledgers, rule inputs and metrics; the hosts of which a row of a ledger was changed."""
        start, end = self.span
        before = find_before(self.transaction, host_ids, start)
        since = {host: before[host] - timedelta(microseconds=1) if host in before else start for host in host_ids}
        blocks = read_blocks(self.transaction, since, end)
        machines = {host_id: read_machine(self.inventories.get(host_id)) for host_id in host_ids}
        parts = [
            _Part(host_id, service_id, scope, blocks[host_id], picked)
            for host_id in host_ids
            for service_id, scope, picked in machines[host_id].pick_each(blocks[host_id].keys, self.services[host_id])
        ]
        service_ids = sorted({part.service_id for part in parts})
        held = HeldLedgers(self.transaction, host_ids, service_ids, self.span)
        recorded = stored_spans(self.transaction, host_ids, service_ids, *self.span)
        ledgers = block_ledgers([(part.block, part.picked) for part in parts], after_s=start.timestamp())
        changed = set()
        for part, ledger in zip(parts, ledgers, strict=True):
            host_id, service_id, scope, block, picked = part
            if not held.holds(host_id, service_id, ledger, picked.plan):
                replace_ledger(self.transaction, host_id, service_id, [self.span], ledger, picked.plan)
                changed.add(host_id)
            fresh = not_recorded(ledger, recorded.get((host_id, service_id), []), now=self.now)
            if not len(fresh):
                continue
            if scope is None:
                self._judge(part, machines[host_id], fresh)
            else:
                self.inputs.add_service(host_id, machines[host_id], block, fresh, service_id, scope)
        rollups = {host_id: _roll_up(block, start) for host_id, block in blocks.items()}
        replace_metrics(self.transaction, "metrics_10m", rollups)
        return changed

    def _judge(self, part: _Part, machine: Machine, fresh: Ledger) -> None:
        """Record what rules judge of the host's new intervals."""
        measured = part.picked.plan.dialect == "tpp"  # its kernel marks demoted pages
        inventory = self.inventories.get(part.host_id)
        judged = judge_intervals(self.transaction, part.host_id, inventory, fresh, now=self.now, measured=measured)
        self.inputs.read_beside([part.host_id], self.span)
        self.inputs.add_host(part.host_id, machine, part.block, fresh, judged)


def _roll_up(block: Block, start: datetime) -> Rollup:
    """Metrics of ten minutes of those counters that the catalogue keeps beyond raw samples."""
    kept, names, monotonic = _kept(block.keys)
    narrow = replace(block, keys=names, values=block.values[:, kept], present=block.present[:, kept])
    nominal_s = nominal_step(block.times_us / 1e6)
    return roll_up(narrow, monotonic, base_us=to_us(start), width_us=TEN_MINUTES_US, nominal_s=nominal_s)


@lru_cache(maxsize=512)
def _kept(keys: tuple[str, ...]) -> tuple[list[int], tuple[str, ...], frozenset[str]]:
    """The places and names of counters that are kept, and those of them that are monotonic."""
    places = [place for place, key in enumerate(keys) if _is_kept(key)]
    names = tuple(keys[place] for place in places)
    return places, names, frozenset(filter(_is_monotonic, names))


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
    mark_late_days(transaction, claimed)


def _merge(
    transaction: WriteTransaction, claimed: Claim, *, fine: MetricsTable, coarse: MetricsTable, width_us: int
) -> None:
    for span in join_spans(claimed.buckets, width_us):
        parts = read_metrics(transaction, fine, claimed.subject_id, span, None)
        replace_metrics(transaction, coarse, {claimed.subject_id: merge_rollups(parts, width_us)})


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
