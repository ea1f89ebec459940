"""One short row of every host, for a view that shows them all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import get_args

import numpy as np
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession
from tierscope.domain.base.blocks import unpack_floats
from tierscope.domain.base.buckets import day_of
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostState
from tierscope.domain.ledger.words import Word
from tierscope.storage.base.blocks import Days, read_blocks
from tierscope.storage.base.retention import kept
from tierscope.storage.base.subjects import IN_SERVICE
from tierscope.storage.fleet.reporting import STATE, VERDICT, Limits
from tierscope.storage.tables.time import rule_days

_WHO = "h.id AS host_id, h.public_id, h.name, h.origin, h.labels, r.kernel, r.memory_bytes"
_SERVICES = (
    " LEFT JOIN (SELECT hs.host_id, array_agg(jsonb_build_array(s.id, s.name) ORDER BY s.name, s.id) AS services"
    " FROM host_services hs JOIN services s ON s.id = hs.service_id GROUP BY hs.host_id) sv ON sv.host_id = h.id"
)
_FOUND = "fd.severity AS finding_severity, coalesce(sv.services, '{}') AS services"
_LARGEST = " ORDER BY memory_bytes DESC NULLS LAST, name, host_id LIMIT :limit"


def _findings(holds: str) -> str:
    """The gravest severity of each host's findings that hold; notes are none. `critical` is before `warning`."""
    return (
        f" LEFT JOIN (SELECT host_id, min(severity) AS severity FROM findings WHERE {holds} AND severity <> 'info'"  # noqa: S608
        " GROUP BY host_id) fd ON fd.host_id = h.id"
    )


@dataclass(frozen=True, slots=True)
class GridRow:
    """A host. `services` are (id, name) by name; None where no worker has summed the host up, or nobody says.

    `state` is None at a moment of the past from which the host has no rows.
    """

    host_id: int
    public_id: str
    name: str
    origin: Origin
    state: HostState | None
    labels: dict[str, str]
    services: tuple[tuple[int, str], ...]
    kernel: str | None
    memory_bytes: int | None
    verdict: str
    tiering_off: bool | None
    psi_memory_some_ratio: float | None
    finding_severity: Severity | None


@dataclass(frozen=True, slots=True)
class GridPart:
    """Hosts of one group that are alike in what is known of them. Ratios are means over those with a value."""

    group: str | None
    origin: Origin
    state: HostState | None
    verdict: str
    tiering_off: bool | None
    finding_severity: Severity | None
    hosts: int
    memory_bytes: int | None
    psi_memory_some_ratio: float | None
    cold_ratio: float | None


@dataclass(frozen=True, slots=True)
class Grid:
    """All hosts that are neither retired nor revoked, now or at a moment of the past: a statement and its values."""

    statement: str
    values: dict[str, object]

    def of(self, host_ids: Sequence[int]) -> "Grid":
        """Some of the hosts."""
        return Grid(f"{self.statement} AND h.id = ANY(:some)", self.values | {"some": list(host_ids)})

    def count(self, session: ReadSession) -> dict[HostState | None, int]:
        """Hosts by state."""
        rows = session.execute(text(f"SELECT state, count(*) FROM ({self.statement}) AS g GROUP BY 1"), self.values)  # noqa: S608
        return {row[0]: int(row[1]) for row in rows}

    def rows(self, session: ReadSession, *, limit: int) -> list[GridRow]:
        """The largest hosts, the largest first."""
        found = session.execute(text(self.statement + _LARGEST), self.values | {"limit": limit}).mappings()
        return [
            GridRow(**{**row, "services": tuple((number, name) for number, name in row["services"])}) for row in found
        ]

    def label_keys(self, session: ReadSession) -> list[str]:
        """Keys of labels that some host has."""
        statement = f"SELECT DISTINCT jsonb_object_keys(labels) AS key FROM ({self.statement}) AS g ORDER BY 1"  # noqa: S608
        return [str(row.key) for row in session.execute(text(statement), self.values)]

    def parts(
        self, session: ReadSession, by: str, largest: Mapping[int, int], cold: Mapping[int, float]
    ) -> list[GridPart]:
        """All hosts by group and by what is known of them, largest first.

        `by`: `service`, `kernel` or `label:` and a key. `largest` and `cold` by host: its service, its cold share.
        """
        first = "g.services[1]->>1"
        own = "(SELECT one->>1 FROM unnest(g.services) AS one WHERE (one->>0)::bigint = k.service)"
        key = {"service": f"coalesce({own}, {first})", "kernel": "g.kernel"}.get(by, "g.labels->>CAST(:label AS text)")
        hosts = sorted(largest.keys() | cold.keys())
        known = {
            "of": hosts,
            "largest": [largest.get(host) for host in hosts],
            "cold": [cold.get(host) for host in hosts],
        }
        statement = (
            f"SELECT {key} AS part, g.origin, g.state, g.verdict, g.tiering_off, g.finding_severity, count(*) AS hosts,"  # noqa: S608
            " sum(g.memory_bytes)::bigint AS memory_bytes, avg(g.psi_memory_some_ratio) AS psi, avg(k.cold) AS cold"
            f" FROM ({self.statement}) AS g LEFT JOIN"
            " unnest(CAST(:of AS bigint[]), CAST(:largest AS bigint[]), CAST(:cold AS float8[]))"
            " AS k (host_id, service, cold) ON k.host_id = g.host_id"
            " GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY memory_bytes DESC NULLS LAST, 1, 2, 3, 4, 5, 6"
        )
        values = self.values | known
        if by.startswith("label:"):
            values |= {"label": by.removeprefix("label:")}
        return [GridPart(*row) for row in session.execute(text(statement), values)]


def grid_now(limits: Limits) -> Grid:
    """Hosts as they are."""
    statement = (
        f"SELECT {_WHO}, r.tiering_off, {STATE} AS state, {VERDICT} AS verdict,"  # noqa: S608
        " CASE WHEN r.ended_at > :since AND r.psi_seconds > 0"
        " THEN least(greatest(r.psi_total / r.psi_seconds * 1e-6, 0), 1) END AS psi_memory_some_ratio,"
        f" {_FOUND} FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id{_findings('until IS NULL')}{_SERVICES}"
        f" WHERE {IN_SERVICE}"
    )
    return Grid(statement, dict(asdict(limits)))


def grid_at(session: ReadSession, at: datetime, *, span: timedelta) -> Grid:
    """The same hosts as they were at a moment of the past, by the rows of rules of (at - span, at].

    Hosts that were not enrolled yet and have no rows are left out. Size, kernel and services are those of now;
    `tiering_off` is None.
    """
    values: dict[str, object] = {"at": at, "words": list(get_args(Word))}
    if at - span < utc_now() - kept("rule_inputs"):
        told = "unnest(CAST(:hosts AS bigint[]), CAST(:verdicts AS float8[]), CAST(:psi AS float8[]))"
        told += " AS m (host_id, verdict, psi_us_per_s)"
        values |= _packed_at(session, at, span)
    else:
        told, values["since"] = f"({_ROWS_AT}) AS m", at - span
    statement = (
        f"SELECT {_WHO}, NULL::boolean AS tiering_off,"  # noqa: S608 - texts of our own
        " CASE WHEN m.host_id IS NOT NULL THEN 'reporting' END AS state,"
        " coalesce((CAST(:words AS text[]))[m.verdict::int + 1], 'not_known') AS verdict,"
        " CASE WHEN m.psi_us_per_s IS NOT NULL THEN least(greatest(m.psi_us_per_s * 1e-6, 0), 1) END"
        f" AS psi_memory_some_ratio, {_FOUND}"
        f" FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id LEFT JOIN {told} ON m.host_id = h.id"
        f"{_findings('since <= :at AND (until IS NULL OR until > :at)')}{_SERVICES}"
        f" WHERE {IN_SERVICE} AND (h.enrolled_at <= :at OR m.host_id IS NOT NULL)"
    )
    return Grid(statement, values)


_ROWS_AT = (
    "SELECT host_id, (array_agg(verdict ORDER BY ts DESC))[1] AS verdict,"
    " sum(psi_us) / nullif(sum(dt_seconds) FILTER (WHERE psi_us IS NOT NULL), 0) AS psi_us_per_s"
    " FROM (SELECT i.host_id, i.ts, i.dt_seconds,"
    " nullif(i.vals[array_position(l.keys, 'verdict')], 'NaN') AS verdict,"
    " nullif(i.vals[array_position(l.keys, 'psi_some_us')], 'NaN') AS psi_us"
    " FROM rule_inputs i JOIN layouts l ON l.id = i.layout_id"
    " WHERE i.service_id = 0 AND i.host_id > 0 AND i.ts > :since AND i.ts <= :at) AS one GROUP BY host_id"
)


_TOLD = ("verdict", "psi_some_us")


def _packed_at(session: ReadSession, at: datetime, span: timedelta) -> dict[str, list[int] | list[float | None]]:
    """The same of days whose rows are packed, as arrays over hosts."""
    days = Days(day_of(at - span), at, None)
    newest: dict[int, tuple[float, float]] = {}
    psi: dict[int, list[float]] = {}
    for block in read_blocks(session, rule_days, days, _TOLD):
        if len(block.names) < len(_TOLD):
            continue
        columns = dict(zip(("ends_s", "seconds", "lags_s", *block.names), block.parts, strict=True))
        ends_s, seconds, verdicts, psi_us = (
            unpack_floats(columns[name], block.n)[0] for name in ("ends_s", "seconds", *_TOLD)
        )
        inside = (ends_s > (at - span).timestamp()) & (ends_s <= at.timestamp())
        if not inside.any() or not block.host_id:
            continue
        last = int(np.flatnonzero(inside)[-1])
        if block.host_id not in newest or newest[block.host_id][0] < ends_s[last]:
            newest[block.host_id] = float(ends_s[last]), float(verdicts[last])
        told = inside & ~np.isnan(psi_us)
        sums = psi.setdefault(block.host_id, [0.0, 0.0])
        sums[0] += float(psi_us[told].sum())
        sums[1] += float(seconds[told].sum())
    return {
        "hosts": list(newest),
        "verdicts": [None if np.isnan(verdict) else verdict for _, verdict in newest.values()],
        "psi": [total / over if over > 0 else None for total, over in (psi[host] for host in newest)],
    }
