"""What rules judge of new rows of many hosts, as `rule_inputs` records it of one."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.catalogue import pick_keys
from tierscope.domain.alerts.inputs import (
    SERVICE_NAMES,
    Columns,
    agent_columns,
    catalogue_columns,
    host_columns,
    host_keys,
    judged_columns,
    ledger_columns,
    placement_columns,
    to_matrix,
)
from tierscope.domain.counters.packing import NO_BOOTTIME, Block
from tierscope.domain.ledger import Ledger, concatenate
from tierscope.domain.ledger.states import some_rows
from tierscope.storage.alerts.rule_inputs import InputRows, append_inputs
from tierscope.storage.alerts.rule_sources import read_placed_loads, read_reports
from tierscope.storage.counters.schemas import read_layouts
from tierscope.usecases.alerts.judging import LEAD, IntervalJudge
from tierscope.usecases.alerts.named_metrics import named_metrics
from tierscope.usecases.rebuild.new_rows import NewRows
from tierscope.usecases.rebuild.rule_inputs import lag_seconds


class NewInputs:
    """Gathers what rules judge of the new rows of hosts, and stores it in one go.

    The new rows follow the ones that are stored, so that none of them overlaps an interval that was recorded.
    """

    def __init__(self, transaction: WriteTransaction, new: Sequence[NewRows], *, now: datetime) -> None:
        self._transaction = transaction
        self._now = now
        hosts = [part.host_id for part in new]
        span = _span(new) if new else (now, now)
        self._reports = read_reports(transaction, hosts, *span) if hosts else {}
        self._placed = read_placed_loads(transaction, hosts, *span) if hosts else {}
        self._named = (named_metrics(transaction, "host"), named_metrics(transaction, "service")) if hosts else ([], [])
        self._layouts = read_layouts(transaction, {part.layout_id for part in new})
        self._places: dict[tuple[object, ...], list[int]] = {}
        self._found: list[tuple[int, int, Ledger, Columns]] = []

    def add(self, part: NewRows, judge: IntervalJudge, rows: Ledger) -> int:
        """Take the new rows of a host, judged with the rows before them; how many rows were judged."""
        block, fresh, machine = self._narrow(part), part.own.ledger, part.machine
        times_s, seconds = fresh.times_s, fresh.dt_seconds
        first = int(np.searchsorted(rows.times_s, times_s[0] - LEAD.total_seconds(), side="right"))
        lead = some_rows(rows, first, len(rows.times_s))
        places = range(len(lead.times_s) - len(times_s), len(lead.times_s))
        columns = host_columns(block, times_s, machine.tiers, machine.top_bytes, machine.page_bytes)
        columns |= catalogue_columns(block, times_s, self._named[0], None, machine.tiers)
        columns |= agent_columns(times_s, seconds, self._reports.get(part.host_id, []))
        columns |= placement_columns(times_s, seconds, self._placed.get(part.host_id, []))
        measured = part.own.plan.dialect == "tpp"
        columns |= judged_columns(judge.judge(lead, list(places), measured=measured))
        self._found.append((part.host_id, 0, fresh, columns))
        for scope in part.scopes[1:]:
            named = catalogue_columns(block, times_s, self._named[1], scope.scope, machine.tiers)
            self._found.append((part.host_id, scope.service_id, scope.ledger, named))
        return len(lead.times_s)

    def store(self) -> None:
        """Store what was gathered. Their days are asked to be packed when their buckets have closed."""
        alike: dict[tuple[bool, tuple[str, ...]], list[tuple[int, int, Ledger, Columns]]] = {}
        for found in self._found:
            alike.setdefault((found[1] > 0, tuple(found[3])), []).append(found)
        for (services, others), group in alike.items():
            ledger = concatenate([part[2] for part in group])
            columns = ledger_columns(ledger, SERVICE_NAMES) if services else ledger_columns(ledger)
            columns |= {name: np.concatenate([part[3][name] for part in group]) for name in others}
            names = tuple(sorted(columns))
            counts = [len(part[2].times_s) for part in group]
            rows = InputRows(
                np.repeat(np.array([part[0] for part in group], np.int64), counts),
                np.repeat(np.array([part[1] for part in group], np.int64), counts),
                ledger.times_s,
                ledger.dt_seconds,
                lag_seconds(ledger.times_s, self._now),
                names,
                to_matrix(columns, names),
            )
            append_inputs(self._transaction, rows)
        self._found = []

    def _narrow(self, part: NewRows) -> Block:
        """The samples of a host with those counters alone that go into a rule's inputs."""
        keys = self._layouts[part.layout_id]
        tiers, scopes = part.machine.tiers, tuple(scope.scope for scope in part.scopes[1:])
        key = (part.layout_id, tiers, scopes)
        if key not in self._places:
            wanted = set(host_keys(keys))
            wanted |= {found for name in self._named[0] for found in pick_keys(name, keys, None, tiers.top_nodes)}
            for scope in scopes:
                names = self._named[1]
                wanted |= {found for name in names for found in pick_keys(name, keys, scope, tiers.top_nodes)}
            self._places[key] = [place for place, name in enumerate(keys) if name in wanted]
        places = self._places[key]
        n = len(part.samples)
        return Block(
            np.array([sample.at_us for sample in part.samples], np.int64),
            np.array([sample.boot_ref for sample in part.samples], np.int64),
            np.full(n, NO_BOOTTIME, np.int64),
            np.zeros(n, np.int64),
            tuple(keys[place] for place in places),
            np.stack([sample.values[places] for sample in part.samples]),
            np.stack([sample.present[places] for sample in part.samples]),
        )


def _span(new: Sequence[NewRows]) -> tuple[datetime, datetime]:
    first = min(part.samples[0].at_us for part in new)
    last = max(part.samples[-1].at_us for part in new)
    return datetime.fromtimestamp(first / 1e6, UTC), datetime.fromtimestamp(last / 1e6, UTC)
