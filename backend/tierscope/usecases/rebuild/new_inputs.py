"""What rules judge of new rows of many hosts, as `rule_inputs` records it of one."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.catalogue import pick_keys
from tierscope.domain.alerts.inputs import (
    host_keys,
)
from tierscope.domain.counters.packing import NO_BOOTTIME, Block
from tierscope.domain.ledger import Ledger
from tierscope.storage.base.layouts import read_layouts
from tierscope.usecases.alerts.judging import LEAD, IntervalJudge
from tierscope.usecases.rebuild.new_rows import NewRows
from tierscope.usecases.rebuild.rule_inputs import RuleInputs


class NewInputs:
    """Adds the new rows of hosts to what rules judge.

    New rows follow the ones that are stored, so that none of them overlaps an interval that was recorded.
    """

    def __init__(self, transaction: WriteTransaction, new: Sequence[NewRows], inputs: RuleInputs) -> None:
        self._inputs = inputs
        self._layouts = read_layouts(transaction, {part.layout_id for part in new})
        self._places: dict[tuple[object, ...], list[int]] = {}
        if new:
            inputs.read_beside([part.host_id for part in new], _span(new))

    def add(self, part: NewRows, judge: IntervalJudge, rows: Ledger) -> int:
        """Take the new rows of a host, judged with the rows before them; how many rows were judged."""
        block, fresh = self._narrow(part), part.own.ledger
        first = int(np.searchsorted(rows.times_s, fresh.times_s[0] - LEAD.total_seconds(), side="right"))
        lead = rows.rows(slice(first, None))
        places = range(len(lead) - len(fresh), len(lead))
        judged = judge.judge(lead, list(places), measured=part.own.plan.dialect == "tpp")
        self._inputs.add_host(part.host_id, part.machine, block, fresh, judged)
        for scope in part.scopes[1:]:
            if scope.scope is not None:
                self._inputs.add_service(part.host_id, part.machine, block, scope.ledger, scope.service_id, scope.scope)
        return len(lead)

    def _narrow(self, part: NewRows) -> Block:
        """The samples of a host with those counters alone that go into a rule's inputs."""
        keys = self._layouts[part.layout_id]
        tiers, scopes = part.machine.tiers, tuple(scope.scope for scope in part.scopes[1:])
        key = (part.layout_id, tiers, scopes)
        if key not in self._places:
            named: list[tuple[str, str | None]] = [(name, None) for name in self._inputs.named("host")]
            named += [(name, scope) for scope in scopes for name in self._inputs.named("service")]
            wanted = set(host_keys(keys))
            wanted |= {key for name, scope in named for key in pick_keys(name, keys, scope, tiers.top_nodes)}
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
