"""The newest hour of each host in one short row, made by the workers: what lists and services say of tier moves."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.ledger.figures import RateSum
from tierscope.storage.tables import host_recent

RATES = ("promoted", "demoted", "psi")
"""Columns begin with these: total, observed seconds and intervals of each."""
_IN_BYTES = ("damon_promoted", "damon_demoted")
FLOWS = ("promoted", "demoted", "swap_in", "swap_out", *_IN_BYTES)
"""So do these, which are summed as bytes."""


@dataclass(frozen=True, slots=True)
class HostRecent:
    """A host's row. Times bound its newest ledger rows; None without any, or where its inventory does not say.

    `broken`: its counters restarted. `one_tier`: it is known to have no second tier. `page_bytes`: what its ledger
    counts pages of.
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

    def rate(self, name: str) -> RateSum:
        """One of `RATES` as figures take it."""
        if self.started_at is None or self.ended_at is None:
            return RateSum()
        total: float | None = getattr(self, f"{name}_total")
        seconds: float = getattr(self, f"{name}_seconds")
        if total is None or seconds <= 0:
            return RateSum(n_hosts=1, broken=self.broken)
        span = (self.started_at.timestamp(), self.ended_at.timestamp())
        intervals: int = getattr(self, f"{name}_intervals")
        per_s = max(total / seconds, 0.0)
        return RateSum(1, 1, per_s, total, seconds, intervals, *span, broken=self.broken)


@dataclass(frozen=True, slots=True)
class RecentSums:
    """Rows of many hosts together: rates in the order of `RATES`, how many hosts have each verdict."""

    n_hosts: int
    rates: tuple[RateSum, ...]
    one_tier: bool
    verdicts: dict[str, int]


_FIELDS = tuple(field.name for field in fields(HostRecent))


def replace_recent(transaction: WriteTransaction, rows: Sequence[HostRecent]) -> None:
    """Store hosts' rows in place of the ones before."""
    if not rows:
        return
    values = [{name: getattr(row, name) for name in _FIELDS} | {"tier_classes": list(row.tier_classes)} for row in rows]
    statement = insert(host_recent)
    changed = {name: statement.excluded[name] for name in _FIELDS if name != "host_id"}
    transaction.execute(statement.on_conflict_do_update(index_elements=["host_id"], set_=changed), values)


def read_recent_rows(session: ReadSession, host_ids: Sequence[int]) -> dict[int, HostRecent]:
    """The rows of those hosts that have one."""
    statement = text(f"SELECT {', '.join(_FIELDS)} FROM host_recent WHERE host_id = ANY(:hosts)")  # noqa: S608
    rows = session.execute(statement, {"hosts": list(host_ids)})
    return {
        row[0]: HostRecent(**dict(zip(_FIELDS, row, strict=True)) | {"tier_classes": tuple(row.tier_classes)})
        for row in rows
    }


def sum_recent(
    session: ReadSession, *, since: datetime, service_ids: Sequence[int] | None = None
) -> dict[int, RecentSums]:
    """The rows of the hosts of each service together. Ledger rows that ended before `since` do not count."""
    parts = rate_cells()
    some = "" if service_ids is None else " AND hs.service_id = ANY(:services)"
    joined = (
        " FROM host_services hs JOIN hosts h ON h.id = hs.host_id AND h.revoked_at IS NULL"
        f" JOIN host_recent r ON r.host_id = h.id{some}"
    )
    values: dict[str, object] = {"since": since}
    if service_ids is not None:
        values["services"] = list(service_ids)
    statement = text(
        "SELECT hs.service_id, count(*), count(*) FILTER (WHERE r.ended_at > :since),"
        " coalesce(bool_or(r.broken) FILTER (WHERE r.ended_at > :since), false), bool_and(r.one_tier),"
        f" {', '.join(parts)}{joined} GROUP BY hs.service_id"
    )
    words = text(
        "SELECT hs.service_id, CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END, count(*)"
        f"{joined} GROUP BY 1, 2"
    )
    verdicts: dict[int, dict[str, int]] = {}
    for service_id, word, count in session.execute(words, values):
        verdicts.setdefault(service_id, {})[word] = count
    return {
        row[0]: RecentSums(row[1], parse_rates(row[5:], row[2], broken=row[3]), row[4], verdicts.get(row[0], {}))
        for row in session.execute(statement, values)
    }


_CELLS = 7


def rate_cells() -> list[str]:
    """What a statement over rows `r` selects of each of RATES, for rows that ended after `:since`."""
    return [cell for name in RATES for cell in _cells(name, f"r.{name}_total")]


def flow_cells() -> list[str]:
    """The same of each of FLOWS, in bytes."""
    return [cell for name in FLOWS for cell in _cells(name, _bytes_of(name))]


def _bytes_of(name: str) -> str:
    return f"r.{name}_total" if name in _IN_BYTES else f"(r.{name}_total * r.page_bytes)"


def _cells(name: str, total: str) -> list[str]:
    known = f"r.ended_at > :since AND {total} IS NOT NULL AND r.{name}_seconds > 0"
    return [
        f"count(*) FILTER (WHERE {known})",
        f"sum(greatest({total} / nullif(r.{name}_seconds, 0), 0)) FILTER (WHERE {known})",
        f"sum({total}) FILTER (WHERE {known})",
        f"sum(r.{name}_seconds) FILTER (WHERE {known})",
        f"sum(r.{name}_intervals) FILTER (WHERE {known})",
        f"extract(epoch FROM min(r.started_at) FILTER (WHERE {known}))",
        f"extract(epoch FROM max(r.ended_at) FILTER (WHERE {known}))",
    ]


def parse_rates(cells: Sequence[float | None], n_hosts: int, *, broken: bool) -> tuple[RateSum, ...]:
    """What `rate_cells` or `flow_cells` selected, in their order; `n_hosts` have rows at all."""
    found = []
    for at in range(0, len(cells), _CELLS):
        n_known, *sums = (0.0 if cell is None else float(cell) for cell in cells[at : at + _CELLS])
        per_s, total, seconds, intervals, start, end = sums
        if n_known:
            found.append(RateSum(n_hosts, int(n_known), per_s, total, seconds, int(intervals), start, end, broken))
        else:
            found.append(RateSum(n_hosts=n_hosts, broken=broken))
    return tuple(found)
