"""Extends the ledgers of many hosts by the samples that came since: what people look at now, without a rebuild.

A bucket that is still open only grows, so that a new sample adds a row and changes none. Everything else is rebuilt
whole: late samples, a host whose ledger does not end on the sample before, another layout. When the bucket has closed
it is rebuilt whole once, from all of its samples, and what is stored is replaced where it differs. docs/decisions/0014.

What a row needs of the hour before is kept in the worker's memory between two runs; it is read again where another
worker has made the host's newest hour since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from tierscope.core.cache import StoredCache
from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import TEN_MINUTES_US, bucket_start
from tierscope.domain.base.jobs import COUNTERS, COUNTERS_CLOSED
from tierscope.domain.fleet.host_facts import read_facts
from tierscope.domain.ledger import Ledger, concatenate
from tierscope.domain.ledger.course import newest_hour
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.domain.ledger.states import WHOLE_RECORDING_SECONDS
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us, to_us
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.subjects import newest_inventories, scopes_of_hosts
from tierscope.storage.counters.newest import (
    Made,
    Sample,
    count_samples_after,
    inventory_versions,
    read_made,
    read_samples_from,
)
from tierscope.storage.counters.rows import hosts_packed_since
from tierscope.storage.fleet.recent import HostRecent, replace_recent
from tierscope.storage.ledger.rows import append_ledgers, read_ledger, read_newest, recorded_seconds
from tierscope.usecases.alerts.judging import LEAD, IntervalJudge, Judgements
from tierscope.usecases.ledger.recent import LEDGER_SPAN, RECENT_ROWS, judge_recent
from tierscope.usecases.rebuild.counters import rebuild_counters
from tierscope.usecases.rebuild.new_inputs import NewInputs
from tierscope.usecases.rebuild.new_rows import NewRows, make_rows
from tierscope.usecases.rebuild.recent import recent_row
from tierscope.usecases.rebuild.rule_inputs import RuleInputs

_MOST_NEW = 20
"""More new samples of a host than these were not sent minute by minute: its bucket is rebuilt."""
_LONGEST_STEP = timedelta(hours=1)
"""After a longer silence a bucket is rebuilt: what was spooled meanwhile may still come."""
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class KeptHost:
    """A host's newest hours as its ledger holds them since `built_at`."""

    built_at: datetime
    rows: Ledger
    last: Sample | None = None
    judged: Judgements = field(default_factory=dict)
    version: str = ""
    inventory: Mapping[str, Any] | None = None
    machine: Machine = field(default_factory=lambda: read_machine(None))
    recorded_s: float | None = None

    @property
    def ends_us(self) -> int | None:
        """The end of its newest row; None where it has none."""
        return round(float(self.rows.times_s[-1]) * 1e6) if len(self.rows.times_s) else None


@dataclass(slots=True)
class Extended:
    """What one transaction made: to be kept once it has committed."""

    generation: int
    buckets: int = 0
    kept: dict[int, KeptHost] = field(default_factory=dict)
    rebuilt: list[int] = field(default_factory=list)


class OpenBuckets:
    """The hosts of one worker process. `most_hosts` bounds its memory: some 60 kB each."""

    def __init__(self, *, most_hosts: int = 6000) -> None:
        self._kept: StoredCache[int, KeptHost] = StoredCache(most_hosts)

    def __contains__(self, host_id: int) -> bool:
        return host_id in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, done: Extended) -> None:
        """Remember what was committed."""
        for host_id in done.rebuilt:
            self._kept.drop(host_id)
        for host_id, kept in done.kept.items():
            self._kept.put(host_id, kept, generation=done.generation)

    def extend(
        self,
        transaction: WriteTransaction,
        claimed: Mapping[int, tuple[datetime, ...]],
        *,
        now: datetime,
        held: timedelta = timedelta(),
    ) -> Extended:
        """Work off claimed marks of open buckets; where a host's ledger cannot be extended, rebuild its buckets.

        `held`: the longest that a host holds samples back.
        """
        done = Extended(transaction.generation, buckets=sum(len(buckets) for buckets in claimed.values()))
        hosts = self._load(transaction, list(claimed), now=now)
        start = min((bucket for buckets in claimed.values() for bucket in buckets), default=now)
        hosts = {host_id: kept for host_id, kept in hosts.items() if _is_near(kept, start)}
        # A first difference may begin on a sample that only a pack holds: such a host is rebuilt.
        first = {host_id: start - _DAY for host_id, kept in hosts.items() if kept.ends_us is None}
        packed = hosts_packed_since(transaction, first)
        hosts = {host_id: kept for host_id, kept in hosts.items() if host_id not in packed}
        since = {host_id: _since(kept, start) for host_id, kept in hosts.items()}
        found = read_samples_from(transaction, since, most=_MOST_NEW + 1)
        begins = {host_id: _begin(kept.rows, start) for host_id, kept in hosts.items()}
        counts = count_samples_after(transaction, begins)
        scopes = scopes_of_hosts(transaction, list(hosts))
        new: list[NewRows] = []
        for host_id, kept in hosts.items():
            samples = _to_add(kept, found.get(host_id, []), counts.get(host_id, 0), start)
            if samples is None:
                continue
            done.kept[host_id] = kept
            new.append(NewRows(host_id, kept.machine, scopes[host_id], kept.rows, tuple(samples)))
        _ask_to_close(transaction, new)
        _begin_hosts(transaction, [part for part in new if len(part.samples) == 1], done, now=now)
        new = [part for part in new if len(part.samples) > 1]
        make_rows(transaction, new)
        self._store(transaction, new, done, now=now)
        for host_id, buckets in claimed.items():
            if host_id not in done.kept:
                done.rebuilt.append(host_id)
                rebuild_counters(transaction, Claim(COUNTERS.kind, host_id, 0, buckets, now, held))
        return done

    def _store(self, transaction: WriteTransaction, new: Sequence[NewRows], done: Extended, *, now: datetime) -> None:
        append_ledgers(
            transaction,
            [(part.host_id, scope.service_id, scope.ledger, scope.plan) for part in new for scope in part.scopes],
        )
        inputs = RuleInputs(transaction, now=now)
        added = NewInputs(transaction, new, inputs)
        recent: list[HostRecent] = []
        for part in new:
            kept = done.kept[part.host_id]
            rows = concatenate([kept.rows, part.own.ledger])
            facts = read_facts(kept.inventory)
            judge = IntervalJudge(
                transaction,
                part.host_id,
                kept.machine,
                facts,
                now=now,
                known=kept.judged,
                recorded_s=kept.recorded_s,
            )
            looked_at = added.add(part, judge, rows)
            newest = newest_hour(rows.rows(slice(-RECENT_ROWS, None)))
            same = looked_at >= len(newest.times_s) and judge.last_verdict is not None
            verdict = judge.last_verdict if same and judge.last_verdict else judge_recent(newest, facts)
            recent.append(recent_row(part.host_id, newest, verdict, kept.inventory, built_at=now))
            done.kept[part.host_id] = _after(kept, rows, part.samples[-1], judge, built_at=now)
        inputs.store()  # their days are asked to be packed when their buckets have closed
        replace_recent(transaction, recent)

    def _load(self, transaction: WriteTransaction, host_ids: list[int], *, now: datetime) -> dict[int, KeptHost]:
        """The hosts as their ledgers hold them; those without one are left out."""
        made = read_made(transaction, host_ids)
        hosts = {
            host_id: kept
            for host_id in host_ids
            if (kept := self._kept.get(host_id)) is not None
            and host_id in made
            and kept.built_at == made[host_id].built_at
        }
        unknown = {host: found for host, found in made.items() if host not in hosts and found.ended_at is not None}
        hosts |= _read_hosts(transaction, unknown, now=now)
        for host_id in host_ids:
            if host_id not in hosts and (host_id not in made or made[host_id].ended_at is None):
                hosts[host_id] = KeptHost(now, concatenate([]))
        versions = inventory_versions(transaction, list(hosts), now)
        changed = [host_id for host_id, kept in hosts.items() if versions.get(host_id, "") != kept.version]
        bodies = newest_inventories(transaction, changed, now) if changed else {}
        for host_id in changed:
            kept = hosts[host_id]
            kept.version, kept.inventory = versions.get(host_id, ""), bodies.get(host_id)
            kept.machine, kept.judged = read_machine(kept.inventory), {}
        short = [host_id for host_id, kept in hosts.items() if (kept.recorded_s or 0.0) < WHOLE_RECORDING_SECONDS]
        recorded = recorded_seconds(transaction, short) if short else {}
        for host_id in short:
            hosts[host_id].recorded_s = recorded.get(host_id, 0.0)
        return hosts


def _read_hosts(transaction: WriteTransaction, made: Mapping[int, Made], *, now: datetime) -> dict[int, KeptHost]:
    """Hosts that this process does not know: the hours before their newest row, and at least the newest sixty rows."""
    ids = list(made)
    if not ids:
        return {}
    since = now - LEAD - timedelta(microseconds=2 * TEN_MINUTES_US)
    rows = {part.host_id: part.ledger for part in read_ledger(transaction, ids, 0, since, now + timedelta(days=1))}
    few = [host_id for host_id in ids if host_id not in rows or len(rows[host_id].times_s) < RECENT_ROWS]
    for part in read_newest(transaction, [(host, 0) for host in few], rows=RECENT_ROWS, since=now - LEDGER_SPAN):
        rows[part.host_id] = part.ledger
    return {
        host_id: KeptHost(made[host_id].built_at, ledger) for host_id, ledger in rows.items() if len(ledger.times_s)
    }


def _is_near(kept: KeptHost, start: datetime) -> bool:
    """Whether a host's ledger ends not long before its open buckets begin, or has not begun."""
    return kept.ends_us is None or from_us(kept.ends_us) >= start - _LONGEST_STEP


def _since(kept: KeptHost, start: datetime) -> datetime:
    """From when on samples are read: the one that the ledger ends on is left out where it is known.

    Of a host without a ledger everything that a first difference could begin on.
    """
    if kept.ends_us is None:
        return start - _DAY
    ends = from_us(kept.ends_us)
    return ends + _MICROSECOND if kept.last is not None and kept.last.at_us == kept.ends_us else ends


def _after_start(rows: Ledger, start: datetime) -> int:
    """How many rows end after `start`."""
    return int((np.rint(rows.times_s * 1e6) > to_us(start)).sum())


def _begin(rows: Ledger, start: datetime) -> datetime:
    """The sample that the first row after `start` begins on; without such a row, the one that the ledger ends on."""
    if not len(rows.times_s):
        return start - _DAY
    count = _after_start(rows, start)
    begin_s = rows.times_s[-1] if count == 0 else rows.times_s[-count] - rows.dt_seconds[-count]
    return from_us(round(float(begin_s) * 1e6))


def _to_add(kept: KeptHost, found: list[Sample], stored: int, start: datetime) -> list[Sample] | None:
    """The sample that the ledger ends on and those after it; None where the bucket has to be rebuilt.

    `stored` samples come after the first row's begin in the open buckets, which start at `start`: as many as there are
    rows and new samples, or some came late. A mark without a new sample asks for a rebuild too.
    """
    if kept.ends_us is None:
        own = len(found) == stored and 0 < stored <= _MOST_NEW and found[0].at_us > to_us(start)
        return found if own and len({sample.layout_id for sample in found}) == 1 else None
    samples = found if kept.last is None or kept.last.at_us != kept.ends_us else [kept.last, *found]
    if not samples or samples[0].at_us != kept.ends_us or not 1 < len(samples) <= _MOST_NEW:
        return None
    known = _after_start(kept.rows, start)
    if known + len(samples) - 1 != stored or len({sample.layout_id for sample in samples}) > 1:
        return None
    return samples


def _begin_hosts(transaction: WriteTransaction, new: Sequence[NewRows], done: Extended, *, now: datetime) -> None:
    """Store what is known of hosts that have sent their first sample, of which there is no difference yet."""
    recent = []
    for part in new:
        kept = done.kept[part.host_id]
        verdict = judge_recent(None, read_facts(kept.inventory))
        recent.append(recent_row(part.host_id, None, verdict, kept.inventory, built_at=now))
        kept.built_at = now
    replace_recent(transaction, recent)


def _ask_to_close(transaction: WriteTransaction, new: Sequence[NewRows]) -> None:
    """Mark buckets to be rebuilt once they have closed, with the first row that they get."""
    wanted = []
    for part in new:
        ends = [bucket_start(sample.at_us, TEN_MINUTES_US) for sample in part.samples]
        wanted += [(part.host_id, from_us(after)) for before, after in pairwise(ends) if after != before]
        if not len(part.rows.times_s):
            wanted.append((part.host_id, from_us(ends[0])))
    dirty_buckets.append_all(transaction, COUNTERS_CLOSED.kind, wanted)


def _after(kept: KeptHost, rows: Ledger, last: Sample, judge: IntervalJudge, *, built_at: datetime) -> KeptHost:
    """The host with its new rows, without what nothing needs any more."""
    oldest_s = float(rows.times_s[-1]) - LEAD.total_seconds() - TEN_MINUTES_US / 1e6
    first = min(int(np.searchsorted(rows.times_s, oldest_s)), max(len(rows.times_s) - RECENT_ROWS, 0))
    judged = {key: found for key, found in judge.known.items() if key[0] >= oldest_s}
    return KeptHost(
        built_at,
        rows.rows(slice(first, None)),
        last,
        judged,
        kept.version,
        kept.inventory,
        kept.machine,
        kept.recorded_s,
    )
