"""What rules judge, recorded as it becomes complete: one row per interval of a host and of each service on it.

Rows are added and never changed, so that live evaluation and any later backtest read the same values. An interval that
another stored one overlaps is left out: it came late, and what was judged stays as it was judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.frame import Floats
from tierscope.domain.alerts.inputs import (
    SERVICE_NAMES,
    Columns,
    Judged,
    Placed,
    Report,
    agent_columns,
    catalogue_columns,
    host_columns,
    in_bytes,
    judged_columns,
    ledger_columns,
    moved_columns,
    placement_columns,
    to_matrix,
    uncovered,
)
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.buckets import DAY_US, bucket_start
from tierscope.domain.base.jobs import LATE
from tierscope.domain.counters.packing import Block
from tierscope.domain.fairness.shortfall import shortfall_columns
from tierscope.domain.ledger import Ledger, concatenate
from tierscope.domain.ledger.machine import Machine
from tierscope.storage.alerts.rule_inputs import (
    InputRows,
    append_inputs,
)
from tierscope.storage.alerts.rule_sources import read_placed_loads, read_reports
from tierscope.storage.base.binary import from_us
from tierscope.storage.fleet.sending import read_held_seconds
from tierscope.usecases.alerts.named_metrics import named_metrics
from tierscope.usecases.base.spans import Span

_LAG_STEP_S = 30.0
"""Arrival is kept in steps that the limit of being late is a multiple of: it packs to almost nothing."""


@dataclass(frozen=True, slots=True)
class _Found:
    host_id: int
    service_id: int
    ledger: Ledger
    columns: Columns
    page_bytes: int | None


class RuleInputs:
    """Gathers what rules judge of new intervals of hosts and of the services on them, and stores it in one go."""

    def __init__(self, transaction: WriteTransaction, *, now: datetime) -> None:
        self._transaction = transaction
        self._now = now
        self._reports: dict[int, list[Report]] = {}
        self._placed: dict[int, list[Placed]] = {}
        self._found: list[_Found] = []
        self._named: dict[ScopeKind, list[str]] = {}

    def named(self, kind: ScopeKind) -> list[str]:
        """Metrics of the catalogue that rules over hosts, or over services, name; they stay the same here."""
        if kind not in self._named:
            self._named[kind] = named_metrics(self._transaction, kind)
        return self._named[kind]

    def read_beside(self, host_ids: Sequence[int], span: Span) -> None:
        """Read what the agents of these hosts reported and where sampled loads went, for the intervals of a span."""
        self._reports = read_reports(self._transaction, host_ids, *span)
        self._placed = read_placed_loads(self._transaction, host_ids, *span)

    def add_host(self, host_id: int, machine: Machine, block: Block, fresh: Ledger, judged: Judged) -> None:
        """Take intervals of a host's ledger; `block` holds their samples, `judged` what was said at their ends."""
        times_s, seconds = fresh.times_s, fresh.dt_seconds
        columns = host_columns(block, times_s, machine.tiers, machine.top_bytes, machine.page_bytes)
        columns |= moved_columns(fresh, machine.page_bytes)
        columns |= catalogue_columns(block, times_s, self.named("host"), None, machine.tiers)
        columns |= agent_columns(times_s, seconds, self._reports.get(host_id, []))
        columns |= placement_columns(times_s, seconds, self._placed.get(host_id, []))
        columns |= judged_columns(judged)
        self._found.append(_Found(host_id, 0, fresh, columns, machine.page_bytes))

    def add_service(
        self, host_id: int, machine: Machine, block: Block, fresh: Ledger, service_id: int, scope: str
    ) -> None:
        """Take intervals of the ledger of a service's own control groups."""
        columns = catalogue_columns(block, fresh.times_s, self.named("service"), scope, machine.tiers)
        columns |= moved_columns(fresh, machine.page_bytes)
        self._found.append(_Found(host_id, service_id, fresh, columns, machine.page_bytes))

    def store(self) -> dict[int, set[datetime]]:
        """Store what was gathered; the days that it is of, by host. What has the same columns is stored together."""
        self._add_shortfalls()
        held_s = read_held_seconds(self._transaction, sorted({found.host_id for found in self._found}))
        alike: dict[tuple[bool, tuple[str, ...]], list[_Found]] = {}
        for found in self._found:
            alike.setdefault((found.service_id > 0, tuple(found.columns)), []).append(found)
        for (services, others), group in alike.items():
            ledger = concatenate([part.ledger for part in group])
            columns = ledger_columns(ledger, SERVICE_NAMES) if services else ledger_columns(ledger)
            columns |= {name: np.concatenate([part.columns[name] for part in group]) for name in others}
            names = tuple(sorted(columns))
            counts = [len(part.ledger) for part in group]
            host_ids = np.repeat(np.array([part.host_id for part in group], np.int64), counts)
            held = np.array([held_s.get(host_id, 0) for host_id in host_ids.tolist()], np.float64)
            rows = InputRows(
                host_ids,
                np.repeat(np.array([part.service_id for part in group], np.int64), counts),
                ledger.times_s,
                ledger.dt_seconds,
                _lag_seconds(ledger.times_s + held, self._now),
                names,
                to_matrix(columns, names),
            )
            append_inputs(self._transaction, rows)
        days: dict[int, set[datetime]] = {}
        for found in self._found:
            ends = found.ledger.times_s.tolist()
            days.setdefault(found.host_id, set()).update(
                from_us(bucket_start(round(end * 1e6), DAY_US)) for end in ends
            )
        self._found = []
        return days

    def _add_shortfalls(self) -> None:
        """How far services are below their fair shares, of the services of each host together."""
        by_host: dict[int, list[_Found]] = {}
        for found in self._found:
            if found.service_id:
                by_host.setdefault(found.host_id, []).append(found)
        for services in by_host.values():
            added = shortfall_columns([found.ledger for found in services])
            for found, columns in zip(services, added, strict=True):
                lost = in_bytes(columns["demoted_for_others_pages"], found.page_bytes)
                found.columns.update(columns, demoted_for_others_bytes=lost)


def not_recorded(ledger: Ledger, stored: Sequence[tuple[float, float]], *, now: datetime) -> Ledger:
    """The intervals that no stored one overlaps, and that are young enough to be judged by."""
    young = ledger.times_s > (now - LATE).timestamp()
    return ledger.rows(young & uncovered(ledger.times_s, ledger.dt_seconds, stored))


def _lag_seconds(due_s: Floats, now: datetime) -> Floats:
    """How late each interval is recorded, in steps: after its end and what its host holds back by its plan."""
    return np.asarray(_LAG_STEP_S * np.ceil(np.maximum(now.timestamp() - due_s, 0.0) / _LAG_STEP_S))
