"""The newest hour of each host in one short row, made by the workers: what lists and services say of tier moves."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import null, text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.counters.unsent import read_senders
from tierscope.domain.ledger.figures import RateSum
from tierscope.domain.ledger.plan import why_column_unsent
from tierscope.storage.tables import host_recent

RATES = ("promoted", "demoted", "psi")
"""Columns begin with these: total, observed seconds and intervals of each."""
_COLUMNS = {"promoted": "promoted_pages", "demoted": "demoted_pages", "psi": "psi_some_us"}
"""The columns of the ledger that `RATES` are made of."""
IN_BYTES = ("damon_promoted", "damon_demoted")
FLOWS = ("promoted", "demoted", "swap_in", "swap_out", *IN_BYTES)
"""So do these, which are summed as bytes: what is not counted in them already by the host's size of pages."""


@dataclass(frozen=True, slots=True)
class HostRecent:
    """A host's row. Times bound its newest ledger rows; None without any, or where its inventory does not say.

    `broken`: its counters restarted. `one_tier`: it is known to have no second tier. `page_bytes`: what its ledger
    counts pages of. `senders` as its inventory has them.
    """

    host_id: int
    built_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    broken: bool
    promoted_total: float | None
    promoted_seconds: float
    promoted_intervals: int
    demoted_total: float | None
    demoted_seconds: float
    demoted_intervals: int
    psi_total: float | None
    psi_seconds: float
    psi_intervals: int
    swap_in_total: float | None
    swap_in_seconds: float
    swap_in_intervals: int
    swap_out_total: float | None
    swap_out_seconds: float
    swap_out_intervals: int
    damon_promoted_total: float | None
    damon_promoted_seconds: float
    damon_promoted_intervals: int
    damon_demoted_total: float | None
    damon_demoted_seconds: float
    damon_demoted_intervals: int
    page_bytes: int | None
    verdict: str
    memory_bytes: int | None
    top_bytes: float | None
    one_tier: bool
    tiering_off: bool | None
    tier_classes: tuple[str, ...]
    kernel: str | None
    dialect: str | None
    senders: list[dict[str, Any]] | None = None

    def rate(self, name: str) -> RateSum:
        """One of `RATES` as figures take it."""
        if self.started_at is None or self.ended_at is None:
            return RateSum()
        total: float | None = getattr(self, f"{name}_total")
        seconds: float = getattr(self, f"{name}_seconds")
        if total is None or seconds <= 0:
            unsent = why_column_unsent(read_senders({"senders": self.senders}), _COLUMNS[name])
            return RateSum(n_hosts=1, broken=self.broken, unsent=unsent)
        span = (self.started_at.timestamp(), self.ended_at.timestamp())
        intervals: int = getattr(self, f"{name}_intervals")
        per_s = max(total / seconds, 0.0)
        return RateSum(1, 1, per_s, total, seconds, intervals, *span, broken=self.broken)


_FIELDS = tuple(field.name for field in fields(HostRecent))


def replace_recent(transaction: WriteTransaction, rows: Sequence[HostRecent]) -> None:
    """Store hosts' rows in place of the ones before."""
    if not rows:
        return
    values = [
        {name: getattr(row, name) for name in _FIELDS}
        | {"tier_classes": list(row.tier_classes), "senders": null() if row.senders is None else row.senders}
        for row in rows
    ]
    statement = insert(host_recent)
    changed = {name: statement.excluded[name] for name in _FIELDS if name != "host_id"}
    transaction.execute(statement.on_conflict_do_update(index_elements=["host_id"], set_=changed), values)


def read_recent_rows(session: ReadSession, host_ids: Sequence[int]) -> dict[int, HostRecent]:
    """The rows of those hosts that have one."""
    statement = text(f"SELECT {', '.join(_FIELDS)} FROM host_recent WHERE host_id = ANY(:hosts)")  # noqa: S608
    place = _FIELDS.index("tier_classes")
    found = {}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        values: list[Any] = list(row)
        values[place] = tuple(values[place])
        found[row[0]] = HostRecent(*values)
    return found
