"""From samples of Prometheus to rows of kernel counters, which everything else is built from; and packed hours.

A target whose series hold kernel counters is a host. Its rows are rebuilt from all samples of the minutes that are
asked for, and only those that differ are written: doing it again changes nothing.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.core.settings import RemoteWriteSettings, Settings
from tierscope.domain.base.buckets import HOUR_US, MINUTE_US, TEN_MINUTES_US, bucket_start
from tierscope.domain.base.jobs import COUNTERS
from tierscope.domain.counters.packing import Block, Bools, Ints, empty_block, join_blocks
from tierscope.domain.counters.unsent import Lack, find_lack, read_senders
from tierscope.domain.ingest.batch import Finding
from tierscope.domain.ingest.prometheus.containers import told_memory
from tierscope.domain.ingest.prometheus.counters import BOOT_TIME_KEY
from tierscope.domain.ingest.prometheus.inventory import make_inventory
from tierscope.domain.ingest.prometheus.targets import is_loopback, strip_port
from tierscope.domain.ingest.prometheus.tellers import SAME_BOOT_SECONDS, Machines
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us, to_us
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.live_rows import make_room
from tierscope.storage.base.partitions import BEHIND_DAYS, ensure_partitions
from tierscope.storage.counters.rows import read_block
from tierscope.storage.ingest.facts import OwnFinding, write_own_findings
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.sampled_hosts import (
    SampledHost,
    add_boot,
    boots_of,
    count_hosts_without_agent,
    find_agent_host,
    lock_host,
    make_host,
    note_container_services,
    note_sighting,
    rename_boot,
    replace_rows,
    write_inventory,
)
from tierscope.storage.ingest.samples import NewBody, newest_arrival, read_bodies, replace_packed
from tierscope.storage.ingest.series import (
    StoredTarget,
    assign_target,
    find_hosts_called,
    find_target,
    hold_targets,
    sampled_host_ids,
    targets_of_host,
)
from tierscope.usecases.base.spans import Span, join_spans
from tierscope.usecases.ingest.counter_series import CounterSeries, counter_series
from tierscope.usecases.rebuild.homes import AwaitedHostError, HostHomes

AGENT_SILENT = timedelta(hours=1)
"""An agent that was heard of within it reports the host; what Prometheus sends of it is kept, its counters are not."""
CARRY = timedelta(minutes=2)
"""How far before a minute samples are read, so that a row finds what came since the row before."""
NEWEST = timedelta(minutes=30)
"""What is told of a machine in minutes that ended before this ends no finding."""
PACK_LEVEL = 6
TWICE = "reported-twice"
MACHINES = "several-machines"
UNSENT = "counters-not-sent"
_UNKNOWN_BOOT = "prometheus"
_BOOT_PREFIX = "boot-time:"


def rebuild_samples(transaction: WriteTransaction, claimed: Claim, *, homes: HostHomes | None = None) -> None:
    """Bring the rows of counters of one target's host up to date, and mark what is built from them.

    `transaction` is the coordinator's, which has the samples; `homes` says where the host is.

    Raises:
        AwaitedHostError: the host moves now, or its server is away.
    """
    homes = homes or HostHomes()
    target = find_target(transaction, claimed.subject_id)
    if target is None:
        return
    labels = Settings().remote_write.replica_labels
    series = counter_series(transaction, [target.id], replica_labels=labels)
    now = utc_now()
    host_id = _find_host(transaction, target, series, homes, now)
    if host_id is None:
        return
    with homes.of(transaction, host_id) as home:
        host = lock_host(home.rows, host_id)
        if host is None:
            homes.require_gone(transaction, host_id, home)
            return
        if host.moving:
            raise AwaitedHostError
        twice = _reported_twice(transaction, home.rows, target, host, now)
        spans = join_spans(claimed.buckets, MINUTE_US)
        if twice:
            # What was recorded before the agent came is told by nobody else.
            spans = [span for span in spans if span[1] <= host.enrolled_at - AGENT_SILENT]
        if host.revoked or not spans:
            return
        targets = targets_of_host(transaction, host.id)
        if targets != [target.id]:
            series = counter_series(transaction, targets, replica_labels=labels)
        if not series.keys:
            return
        changed: set[int] = set()
        for span in spans:
            changed.update(_rebuild_span(transaction, home.rows, host, targets, series, span, now))
        if changed:
            buckets = [from_us(bucket) for bucket in sorted({bucket_start(at, TEN_MINUTES_US) for at in changed})]
            dirty_buckets.append(home.rows, COUNTERS.kind, host.id, 0, buckets)


def _find_host(
    transaction: WriteTransaction, target: StoredTarget, series: CounterSeries, homes: HostHomes, now: datetime
) -> int | None:
    """The host of a target, made at first sight; None where it cannot be one, or there are too many hosts."""
    if not series.keys:
        return _find_machine(transaction, target, series)
    if target.host_id is not None:
        return target.host_id
    settings = Settings().remote_write
    names = [name for name in (target.name, series.nodename) if name]
    with homes.fleet(transaction) as fleet:
        known = find_agent_host(fleet, names, seen_after=now - AGENT_SILENT)
        many = known is None and count_hosts_without_agent(fleet, sampled_host_ids(transaction)) >= settings.hosts
    host_id = (
        known if known is not None else _make(transaction, target, _called(target, series), settings, now, many=many)
    )
    if host_id is not None:
        assign_target(transaction, target.id, host_id=host_id, reason=None)
    return host_id


def _find_machine(transaction: WriteTransaction, target: StoredTarget, series: CounterSeries) -> int | None:
    """The host that a target of containers alone runs on; None where none is known, or several are by now.

    The kubelet has an address of its own where node_exporter has the name of the node, or the other way round: then
    the label `node`, or what the machine calls itself, says that both are of one.
    """
    found: list[int] = []
    if series.system:
        reason = f"the machine runs {series.system}, and counters of Linux alone are read"
    elif not series.machines:
        return None
    elif not target.name or len(series.machines) > 1:
        reason = "no label says which machine these containers run on"
    else:
        names = [name for name in (strip_port(min(series.machines)), target.name) if name]
        found = find_hosts_called(transaction, target.cluster, names)
        reason = f"no node_exporter reports the machine {names[0]} of these containers"
    host_id = found[0] if len(found) == 1 else None
    why = reason if host_id is None else None
    if (host_id, why) != (target.host_id, target.reason):
        assign_target(transaction, target.id, host_id=host_id, reason=why)
    return host_id


def _reported_twice(
    transaction: WriteTransaction, home: WriteTransaction, target: StoredTarget, host: SampledHost, now: datetime
) -> bool:
    """Whether an agent of ours reports the host, noted where that changed."""
    twice = host.agent_seen_at is not None and host.agent_seen_at > now - AGENT_SILENT
    if twice or target.reason is not None:
        reason = "an agent reports this host" if twice else None
        assign_target(transaction, target.id, host_id=host.id, reason=reason)
        write_own_findings(home, [_twice(host, target, holds=twice)], now)
    return twice


def _called(target: StoredTarget, series: CounterSeries) -> str:
    """What a host is called: by its target, or as it calls itself where that is `localhost` to who scrapes it."""
    names = {mark.name for mark in series.marks.values() if mark.kind == "name"}
    return (min(names) or target.name) if is_loopback(target.name) and len(names) == 1 else target.name


def _make(
    transaction: WriteTransaction,
    target: StoredTarget,
    name: str,
    settings: RemoteWriteSettings,
    now: datetime,
    *,
    many: bool,
) -> int | None:
    if not target.name:
        assign_target(transaction, target.id, host_id=None, reason=f"no label `{settings.host_label}`")
        return None
    if many:
        assign_target(transaction, target.id, host_id=None, reason=f"more than {settings.hosts} hosts")
        return None
    labels = {"cluster": target.cluster} if target.cluster else {}
    host_id, public_id = make_host(transaction, name=name, labels=labels)
    detail = {"name": name, "origin": "live", "cluster": target.cluster}
    stored_access.append_audit(
        transaction, stored_access.AuditRow(now, "prometheus", "host.first-seen", public_id, detail)
    )
    return host_id


def _twice(host: SampledHost, target: StoredTarget, *, holds: bool) -> OwnFinding:
    cause = f"Prometheus sends series of {target.name}, which an agent reports: its counters are taken from the agent"
    fix = "Drop these series from remote write, or stop the agent; series are kept either way."
    return OwnFinding(host.id, Finding(TWICE, "info", cause, fix, "certain"), holds)


def _rebuild_span(
    transaction: WriteTransaction,
    home: WriteTransaction,
    host: SampledHost,
    targets: list[int],
    series: CounterSeries,
    span: Span,
    now: datetime,
) -> list[int]:
    start, end = span
    bodies = read_bodies(transaction, targets, start - CARRY, end)
    told = series.read_told(bodies, (start - CARRY, end))
    _note_machines(home, host, told.machines, now, newest=end > now - NEWEST)
    rows = _fold(bodies, series, told.machines, (start - CARRY, end))
    rows = rows.rows(rows.times_us > to_us(start))
    if start < now - timedelta(days=BEHIND_DAYS):
        ensure_partitions(home, start, end)
    make_room(home, start, end, now=now)
    boot_id = None
    if len(rows):
        rows, boot_id = _with_boots(home, host.id, rows)
    stored = read_block(home, host.id, start, end)
    changed = replace_rows(home, host.id, stored, rows, span)
    if changed and len(rows):
        newest_us = int(rows.times_us[-1])
        info = series.read_info(told)
        newest = {
            key: int(value)
            for key, value, present in zip(rows.keys, rows.values[-1], rows.present[-1], strict=True)
            if present
        }
        sent = {name: keys & newest.keys() for name, keys in series.senders.items()}
        inventory = make_inventory(series.nodename or "", newest, info, sent)
        write_inventory(home, host.id, inventory, from_us(newest_us))
        if end > now - NEWEST:
            _note_lack(home, host, find_lack(read_senders(inventory), newest), now)
        there = np.any(rows.present, axis=0).tolist()
        scopes = {key.partition("|")[0] for key, known in zip(rows.keys, there, strict=True) if known}
        running = [key for key in series.services if f"service:{key.namespace}/{key.name}" in scopes]
        if running:
            note_container_services(home, host.id, running, per_host=Settings().limits.services_per_host)
        if start > host.enrolled_at - AGENT_SILENT or host.agent_seen_at is None:
            seen = newest_arrival(transaction, targets, start, end)
            note_sighting(home, host.id, seen=seen, ended_us=newest_us, boot_id=boot_id)
    return changed


def _note_machines(
    home: WriteTransaction, host: SampledHost, machines: Machines, now: datetime, *, newest: bool
) -> None:
    """The finding that several machines send under one name, noted where that changed."""
    if not machines.evidence and not (newest and MACHINES in host.own_findings):
        return
    cause = f"Several machines send series under this host's name: {'; '.join(machines.evidence)}."
    taken = "Nothing is taken of their counters" if machines.mixed else "The counters of the first one alone are taken"
    fix = f"Give each machine a label `instance` (or `cluster`) of its own. {taken}; they never add up."
    finding = Finding(MACHINES, "warning", cause, fix, "certain")
    write_own_findings(home, [OwnFinding(host.id, finding, bool(machines.evidence))], now)


def _note_lack(home: WriteTransaction, host: SampledHost, lack: Lack | None, now: datetime) -> None:
    """The finding that what reports the host leaves out what the ledger needs, noted where it is there or ended."""
    if lack is None and UNSENT not in host.own_findings:
        return
    lack = lack or Lack((), (), "")
    finding = Finding(UNSENT, "warning", lack.cause, lack.fix, "certain")
    write_own_findings(home, [OwnFinding(host.id, finding, bool(lack.lacking))], now)


def _fold(bodies: list[bytes], series: CounterSeries, machines: Machines, span: Span) -> Block:
    """Rows of the counters. Each is what one Prometheus saw: another's rows stand only where the first ones have none.

    The clocks of two that scrape one machine differ, so that their rows side by side would have counters that fall.
    """
    rows = empty_block(series.keys)
    if not bodies:
        return rows
    for chosen in series.views(bodies, machines, span):
        more = _fold_replica(bodies, series, chosen, span)
        more = more.rows(_far_from(more.times_us, rows.times_us))
        rows = join_blocks([rows, more]) if len(rows) else more
    return rows


def _fold_replica(bodies: list[bytes], series: CounterSeries, chosen: Bools, span: Span) -> Block:
    width = len(series.keys)
    span_ms = to_us(span[0]) // 1000, to_us(span[1]) // 1000
    places = series.ids[chosen], series.places[chosen], series.scales[chosen], series.held_ms[chosen]
    times_ms, values, present = load_core().fold_counters(bodies, *places, width, *span_ms)
    n = len(times_ms)
    zeros = np.zeros(n, np.int64)
    values, present = values.reshape(n, width), present.reshape(n, width)
    told = told_memory(series.keys, values, present)
    return Block(times_ms * 1000, zeros, zeros, zeros, series.keys, values, told)


def _far_from(times_us: Ints, taken_us: Ints) -> Bools:
    """Which times have no taken one within CARRY on either side."""
    reach = CARRY // timedelta(microseconds=1)
    after = np.searchsorted(taken_us, times_us - reach, side="right")
    until = np.searchsorted(taken_us, times_us + reach, side="left")
    return after >= until


def _with_boots(transaction: WriteTransaction, host_id: int, rows: Block) -> tuple[Block, str]:
    """Rows with the ids of the boots that their boot times tell apart, and the boot of the newest."""
    known = boots_of(transaction, host_id)
    column = rows.keys.index(BOOT_TIME_KEY) if BOOT_TIME_KEY in rows.keys else None
    told = [] if column is None else rows.values[rows.present[:, column], column].tolist()
    if told and _newest(known) == _UNKNOWN_BOOT:
        # What was told of the boot before its time was known is of the same boot: nothing says otherwise.
        first = _boot_name({}, int(told[0]))
        if _UNKNOWN_BOOT in known:
            rename_boot(transaction, known[_UNKNOWN_BOOT], first)
            known[first] = known.pop(_UNKNOWN_BOOT)
        else:
            known[first] = add_boot(transaction, host_id, first)
    boots = np.zeros(len(rows), np.int64)
    name = _newest(known)
    for i in range(len(rows)):
        if column is not None and rows.present[i, column]:
            name = _boot_name(known, int(rows.values[i, column]))
        if name not in known:
            known[name] = add_boot(transaction, host_id, name)
        boots[i] = known[name]
    return (
        Block(rows.times_us, boots, rows.boottimes_ns, rows.flags, rows.keys, rows.values, rows.present),
        name,
    )


def _newest(known: dict[str, int]) -> str:
    return max(known, key=lambda name: known[name], default=_UNKNOWN_BOOT)


def _boot_name(known: dict[str, int], boot_time_s: int) -> str:
    """The known boot of this time, else a new name."""
    for name in known:
        if name.startswith(_BOOT_PREFIX):
            then = int(name.removeprefix(_BOOT_PREFIX))
            if abs(then - boot_time_s) <= SAME_BOOT_SECONDS:
                return name
    return f"{_BOOT_PREFIX}{boot_time_s}"


def pack_samples(transaction: WriteTransaction, target_id: int, hours: Sequence[datetime]) -> None:
    """Pack closed hours of a target: each sample once, of repeats the one that came first."""
    core = load_core()
    now = utc_now()
    for hour in hours:
        bodies = read_bodies(transaction, [target_id], hour, from_us(to_us(hour) + HOUR_US))
        packed = core.join_bodies(bodies, PACK_LEVEL) if bodies else None
        if packed is None:
            continue
        if hour < now - timedelta(days=BEHIND_DAYS):
            ensure_partitions(transaction, hour, hour)
        n, first_ms, last_ms, body = packed
        new = NewBody(target_id, to_us(hour) // 1000, first_ms, last_ms, n, body)
        hold_targets(transaction)
        if find_target(transaction, target_id) is None:
            return  # it was purged meanwhile
        replace_packed(transaction, target_id, hour, new)
