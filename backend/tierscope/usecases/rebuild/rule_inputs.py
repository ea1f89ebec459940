"""What rules judge, recorded as it becomes complete: one row per interval of a host and of each service on it.

Rows are added and never changed, so that live evaluation and any later backtest read the same values. An interval that
another stored one overlaps is left out: it came late, and what was judged stays as it was judged.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.frame import Floats
from tierscope.domain.alerts.inputs import (
    SERVICE_NAMES,
    Columns,
    agent_columns,
    catalogue_columns,
    host_columns,
    judged_columns,
    ledger_columns,
    placement_columns,
    to_matrix,
    uncovered,
)
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.buckets import DAY_US, bucket_start
from tierscope.domain.base.jobs import RULE_DAYS
from tierscope.domain.counters.packing import Block
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.flows import cut
from tierscope.domain.ledger.machine import read_machine
from tierscope.storage.alerts.rule_inputs import (
    InputRows,
    append_inputs,
    join_rows,
    read_days,
    read_packed_days,
    replace_packed_day,
    stored_spans,
    unpack_days,
)
from tierscope.storage.alerts.rule_sources import read_placed_loads, read_reports
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.retention import kept
from tierscope.usecases.alerts.judging import judge_intervals
from tierscope.usecases.alerts.named_metrics import named_metrics
from tierscope.usecases.base.spans import Span

_KEPT = kept("rule_inputs")
_DAY = timedelta(days=1)
_LAG_STEP_S = 30.0
"""Arrival is kept in steps that the limit of being late is a multiple of: it packs to almost nothing."""


class RuleInputs:
    """Gathers the new intervals of one host over the spans that are rebuilt, and stores them."""

    def __init__(
        self, transaction: WriteTransaction, host_id: int, inventory: Mapping[str, Any] | None, *, now: datetime
    ) -> None:
        self._transaction = transaction
        self._host_id = host_id
        self._inventory = inventory
        self._machine = read_machine(inventory)
        self._now = now
        self._found: list[tuple[int, Ledger, Columns]] = []

    def add_host(self, span: Span, block: Block, ledger: Ledger, *, measured: bool) -> None:
        """Take the new intervals of the host's ledger in a span. `measured`: its kernel marks demoted pages."""
        fresh = self._fresh(span, ledger, 0)
        if not len(fresh.times_s):
            return
        machine, times_s, seconds = self._machine, fresh.times_s, fresh.dt_seconds
        columns = ledger_columns(fresh)
        columns |= host_columns(block, times_s, machine.tiers, machine.top_bytes, machine.page_bytes)
        columns |= catalogue_columns(block, times_s, self._named("host"), None, machine.tiers)
        reports = read_reports(self._transaction, [self._host_id], *span).get(self._host_id, [])
        columns |= agent_columns(times_s, seconds, reports)
        placed = read_placed_loads(self._transaction, [self._host_id], *span).get(self._host_id, [])
        columns |= placement_columns(times_s, seconds, placed)
        judged = judge_intervals(
            self._transaction, self._host_id, self._inventory, fresh, now=self._now, measured=measured
        )
        columns |= judged_columns(judged)
        self._found.append((0, fresh, columns))

    def add_service(self, span: Span, block: Block, ledger: Ledger, service_id: int, scope: str) -> None:
        """Take the new intervals of a service's own control groups."""
        fresh = self._fresh(span, ledger, service_id)
        if not len(fresh.times_s):
            return
        columns = ledger_columns(fresh, SERVICE_NAMES)
        columns |= catalogue_columns(block, fresh.times_s, self._named("service"), scope, self._machine.tiers)
        self._found.append((service_id, fresh, columns))

    def store(self) -> None:
        """Store what was gathered, and ask for its days to be packed."""
        ends: list[float] = []
        for service_id, ledger, columns in self._found:
            names = tuple(sorted(columns))
            n = len(ledger.times_s)
            rows = InputRows(
                np.full(n, self._host_id),
                np.full(n, service_id),
                ledger.times_s,
                ledger.dt_seconds,
                lag_seconds(ledger.times_s, self._now),
                names,
                to_matrix(columns, names),
            )
            append_inputs(self._transaction, rows)
            ends += ledger.times_s.tolist()
        self._found = []
        days = {from_us(bucket_start(round(end * 1e6), DAY_US)) for end in ends}
        dirty_buckets.append(self._transaction, RULE_DAYS.kind, self._host_id, 0, days)

    def _fresh(self, span: Span, ledger: Ledger, service_id: int) -> Ledger:
        """Intervals of a span that are not recorded, and young enough for their table."""
        times: Floats = ledger.times_s
        young = times > (self._now - _KEPT).timestamp()
        spans = stored_spans(self._transaction, self._host_id, service_id, *span)
        return cut(ledger, young & uncovered(times, ledger.dt_seconds, spans))

    def _named(self, kind: ScopeKind) -> list[str]:
        return named_metrics(self._transaction, kind)


def lag_seconds(times_s: Floats, now: datetime) -> Floats:
    """How late each interval is recorded, in steps."""
    return np.asarray(_LAG_STEP_S * np.ceil(np.maximum(now.timestamp() - times_s, 0.0) / _LAG_STEP_S))


def pack_rule_days(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack closed days: what is packed already, and the rows that came since."""
    host_id = claimed.subject_id
    for day in claimed.buckets:
        parts = unpack_days(read_packed_days(transaction, day, day + _DAY, None, host_ids=[host_id], services=None))
        for key, rows in read_days(transaction, host_id, day).items():
            parts[key] = join_rows(parts[key], rows) if key in parts else rows
        packed = [(service_id, rows) for (service_id, _), rows in sorted(parts.items())]
        replace_packed_day(transaction, host_id, day, packed)
