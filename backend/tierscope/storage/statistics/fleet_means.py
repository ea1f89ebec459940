"""Means of all hosts and services of an hour, one statement per source, as arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.counters.rollups import OBSERVED_KEY
from tierscope.domain.counters.service_metrics import NAMES, SOURCE, TOTAL
from tierscope.storage.base.binary import copy_out, parse_float, parse_int, parse_us
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.statistics.host_means import FINE_TABLE, mean_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SLOTS = 6
"""Stretches of ten minutes in an hour."""
SLOT_S = 600


@dataclass(frozen=True, slots=True)
class LedgerHour:
    """Means of c columns by (host, service) pair and ten minutes. `pairs` [n, 2], `values` [n, 6, c]; NaN in gaps."""

    pairs: Ints
    values: Floats


@dataclass(frozen=True, slots=True)
class ServiceCell:
    """The mean of a service's metric on a host in one slot of ten minutes; `service` as `namespace/name`."""

    host_id: int
    service: str
    term: str
    slot: int
    value: float


def read_ledger_hour(
    session: ReadSession, pairs: Sequence[tuple[int, int]], columns: Sequence[str], start: datetime, end: datetime
) -> LedgerHour:
    """Ledger rows of (host, service) pairs in (start, end]: flows per second, states as means. Service 0: the host."""
    if not pairs:
        return LedgerHour(np.zeros((0, 2), np.int64), np.zeros((0, SLOTS, len(columns))))
    first = int(start.timestamp())
    slot = f"(ceil((extract(epoch FROM ts) - {first}) / {SLOT_S}) - 1)::bigint"
    query = (
        f"SELECT host_id, service_id, {slot}, {', '.join(map(mean_of, columns))}"  # noqa: S608 - own names, integers
        f" FROM unnest({_array(pair[0] for pair in pairs)}, {_array(pair[1] for pair in pairs)}) AS w (host, service)"
        " CROSS JOIN LATERAL (SELECT * FROM tier_moves WHERE host_id = w.host AND service_id = w.service"
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}') AS t GROUP BY 1, 2, 3"
    )
    keys: list[tuple[int, int, int]] = []
    cells: list[list[float]] = []
    for row in copy_out(session, query):
        keys.append((parse_int(row[0]) or 0, parse_int(row[1]) or 0, parse_int(row[2]) or 0))
        cells.append([np.nan if (value := parse_float(field)) is None else value for field in row[3:]])
    if not keys:
        return LedgerHour(np.zeros((0, 2), np.int64), np.zeros((0, SLOTS, len(columns))))
    table = np.array(keys, np.int64)
    found, place = np.unique(table[:, :2], axis=0, return_inverse=True)
    values = np.full((len(found), SLOTS, len(columns)), np.nan)
    values[place.reshape(-1), np.clip(table[:, 2], 0, SLOTS - 1)] = np.array(cells)
    return LedgerHour(found, values)


def read_service_hour(
    session: ReadSession, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[ServiceCell]:
    """What services say of themselves in rolled-up buckets that start in [start, end): rates of totals, means."""
    statement = text(
        f"SELECT DISTINCT keys_layout_id FROM {FINE_TABLE} WHERE host_id = ANY(:hosts)"  # noqa: S608 - own name
        " AND ts >= :start AND ts < :end"
    )
    ids = session.execute(statement, {"hosts": list(host_ids), "start": start, "end": end}).scalars()
    hosts = _array(host_ids)
    found: list[ServiceCell] = []
    for layout_id, names in read_layouts(session, [int(layout) for layout in ids]).items():
        place = {name: i + 1 for i, name in enumerate(names)}
        held = [name for name in names if _is_service_metric(name)]
        if held and OBSERVED_KEY in place:
            found += _read_layout(session, hosts, (layout_id, place), held, start, end)
    return found


def _is_service_metric(key: str) -> bool:
    scope, _, rest = key.partition("|")
    source, _, name = rest.partition("|")
    return scope.startswith("service:") and source == SOURCE and name in NAMES


def _array(ids: Iterable[int]) -> str:
    return f"ARRAY[{', '.join(str(int(found)) for found in ids)}]::bigint[]"


def _read_layout(
    session: ReadSession,
    hosts: str,
    layout: tuple[int, dict[str, int]],
    keys: Sequence[str],
    start: datetime,
    end: datetime,
) -> list[ServiceCell]:
    layout_id, place = layout
    seconds = f"nullif(sum[{place[OBSERVED_KEY]}], 0)"
    picks = ", ".join(
        f"sum[{place[key]}] / {seconds}" if key.endswith(TOTAL) else f"sum[{place[key]}] / nullif(n[{place[key]}], 0)"
        for key in keys
    )
    query = (
        f"SELECT host_id, ts, {picks} FROM {FINE_TABLE} WHERE host_id = ANY({hosts})"  # noqa: S608 - own names
        f" AND keys_layout_id = {int(layout_id)} AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}'"
    )
    parts = [(key.partition("|")[0].removeprefix("service:"), key.rpartition("|")[2]) for key in keys]
    found = []
    for row in copy_out(session, query):
        host, slot = parse_int(row[0]) or 0, (parse_us(row[1]) // 1_000_000 - int(start.timestamp())) // SLOT_S
        for (service, term), field in zip(parts, row[2:], strict=True):
            value = parse_float(field)
            if value is not None and np.isfinite(value):
                found.append(ServiceCell(host, service, term, slot, value))
    return found
