"""Tier moves of all hosts together: summed from the ledger, and as stored by ten minutes with each of their minutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
from sqlalchemy import insert, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.buckets import MINUTE_US, TEN_MINUTES_US, segments
from tierscope.storage.base.binary import copy_out, parse_float8_array, parse_us
from tierscope.storage.ledger.days import may_be_packed
from tierscope.storage.ledger.sums import sum_moves
from tierscope.storage.tables import fleet_moves
from tierscope.storage.tables.fleet_moves import RATES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TEN_MINUTES = timedelta(minutes=10)
MINUTES = 10
COLUMNS = {"promoted": "promoted_pages", "demoted": "demoted_pages", "psi": "psi_some_us"}
"""The ledger's column behind each of RATES."""


@dataclass(frozen=True, slots=True)
class FleetMinutes:
    """By minute [t]: `ends_s` (Unix seconds), and for each of RATES [3, t] rates added up over `hosts` hosts.

    `known` [3, t]: hosts that counted it within the ten minutes that the minute is of: more, where intervals are long.
    """

    ends_s: Floats
    per_s: Floats
    hosts: Floats
    known: Floats


def replace_fleet_moves(transaction: WriteTransaction, starts: Sequence[datetime]) -> None:
    """Sum the ledger of all hosts over these ten minutes, in place of what was there."""
    transaction.execute(text("DELETE FROM fleet_moves WHERE ts = ANY(:starts)"), {"starts": list(starts)})
    rows = [row for start, end in _stretches(starts) for row in _stored(sum_minutes(transaction, start, end))]
    if rows:
        transaction.execute(insert(fleet_moves), rows)


def _stretches(starts: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    """Ten minutes that follow each other as one, so that the server is asked once for all of them."""
    found: list[tuple[datetime, datetime]] = []
    for start in sorted(starts):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], start + TEN_MINUTES)
        else:
            found.append((start, start + TEN_MINUTES))
    return found


def _stored(minutes: FleetMinutes) -> list[dict[str, object]]:
    """A row for each ten minutes with any minute."""
    tens, firsts = segments(_ten_minutes(minutes.ends_s))
    place = np.rint(minutes.ends_s / 60).astype(np.int64) - 1 - _ten_minutes(minutes.ends_s) * MINUTES
    rows = []
    for ten, first, end in zip(tens, firsts, np.append(firsts, len(place))[1:], strict=True):
        values: dict[str, object] = {"ts": datetime.fromtimestamp(int(ten) * TEN_MINUTES.total_seconds(), UTC)}
        for i, name in enumerate(RATES):
            per_s, hosts = np.zeros(MINUTES), np.zeros(MINUTES, np.int64)
            per_s[place[first:end]] = minutes.per_s[i, first:end]
            hosts[place[first:end]] = minutes.hosts[i, first:end].astype(np.int64)
            known = int(minutes.known[i, first])
            values |= {f"{name}_per_s": per_s.tolist(), f"{name}_hosts": hosts.tolist(), f"{name}_known": known}
        rows.append(values)
    return rows


def _ten_minutes(ends_s: Floats) -> Ints:
    """The number since the epoch of the ten minutes (start, end] that hold these ends of minutes."""
    return (np.rint(ends_s / 60).astype(np.int64) - 1) // MINUTES


def sum_minutes(session: ReadSession, start: datetime, end: datetime) -> FleetMinutes:
    """The same from the ledger itself, for whole minutes of (start, end] with any row."""
    if may_be_packed(start):
        return _sum_packed(session, start, end)
    values = {"start": start, "end": end}
    of = "FROM tier_moves WHERE service_id = 0 AND ts > :start AND ts <= :end"
    inner = ", ".join(
        f"sum({key}) / nullif(sum(dt_seconds) FILTER (WHERE {key} IS NOT NULL), 0) AS {name}"
        for name, key in COLUMNS.items()
    )
    outer = ", ".join(f"coalesce(sum(greatest({name}, 0)), 0), count({name})" for name in COLUMNS)
    # Each server of a fleet sums by host itself: it has to group by what no setting of a session changes.
    statement = text(
        f"SELECT extract(epoch FROM bin) - 0.000001 + 60, {outer} FROM (SELECT {_bin('1 minute')} AS bin, {inner} {of}"  # noqa: S608 - own names
        " GROUP BY host_id, 1) AS m GROUP BY bin ORDER BY bin"
    )
    table = _floats(session.execute(statement, values).all(), 1 + 2 * len(COLUMNS))
    counted = ", ".join(f"count({key}) AS {name}" for name, key in COLUMNS.items())
    some = ", ".join(f"count(*) FILTER (WHERE {name} > 0)" for name in COLUMNS)
    statement = text(
        f"SELECT (extract(epoch FROM bin) - 0.000001) / 600, {some} FROM (SELECT {_bin('10 minutes')} AS bin, {counted}"  # noqa: S608 - own names
        f" {of} GROUP BY host_id, 1) AS m GROUP BY bin ORDER BY bin"
    )
    counts = _floats(session.execute(statement, values).all(), 1 + len(COLUMNS))
    known = counts[np.searchsorted(counts[:, 0], _ten_minutes(table[:, 0])), 1:].T
    return FleetMinutes(table[:, 0], _in_units(table[:, 1::2].T), table[:, 2::2].T, known)


def _bin(width: str) -> str:
    """The start of the stretch (start, end] that holds an end, and a microsecond."""
    return f"date_bin('{width}', ts, '1970-01-01 00:00:00.000001+00')"


def _floats(rows: Sequence[Sequence[float]], width: int) -> Floats:
    """Rows of numbers of the server as a table [rows, width]."""
    return np.array([[float(cell) for cell in row] for row in rows], np.float64).reshape(-1, width)


def _sum_packed(session: ReadSession, start: datetime, end: datetime) -> FleetMinutes:
    """The same where some of the days are packed: hosts by minute come from the server one by one."""
    sums = sum_moves(session, list(COLUMNS.values()), start, end, width_us=MINUTE_US)
    minutes, at = np.unique(sums.buckets_us, return_inverse=True)
    tens, of_minute = np.unique(minutes // TEN_MINUTES_US, return_inverse=True)
    shape = len(COLUMNS), len(minutes)
    per_s, hosts, known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for place in range(len(COLUMNS)):
        rates = sums.rates(place)
        there = ~np.isnan(rates)
        per_s[place] = np.bincount(at, np.where(there, np.maximum(rates, 0.0), 0.0), len(minutes))
        hosts[place] = np.bincount(at, there, len(minutes))
        counted = sums.counts[:, place] > 0
        pairs = np.unique(np.stack((of_minute[at][counted], sums.host_ids[counted])), axis=1)
        known[place] = np.bincount(pairs[0], minlength=len(tens))[of_minute]
    return FleetMinutes((minutes + MINUTE_US) / 1e6, _in_units(per_s), hosts, known)


def _in_units(per_s: Floats) -> Floats:
    """Pages per second as they are; microseconds of waiting per second as a share."""
    scale = np.array([1e-6 if name == "psi" else 1.0 for name in RATES])
    return np.asarray(per_s * scale[:, None], np.float64)


def read_fleet_moves(session: ReadSession, start: datetime, end: datetime) -> FleetMinutes:
    """Stored minutes that end in (start, end]."""
    cells = ", ".join(f"{name}_per_s, {name}_hosts::float8[], ARRAY[{name}_known]::float8[]" for name in RATES)
    query = (
        f"SELECT ts, {cells} FROM fleet_moves WHERE ts > '{(start - TEN_MINUTES).isoformat()}'"  # noqa: S608 - own names
        f" AND ts < '{end.isoformat()}' ORDER BY ts"
    )
    rows = list(copy_out(session, query))
    starts = np.array([parse_us(row[0]) / 1e6 for row in rows])
    ends = (starts[:, None] + 60.0 * np.arange(1, MINUTES + 1)).ravel()

    def table(first: int) -> Floats:
        found = [[parse_float8_array(row[at]) for row in rows] for at in range(first, 1 + 3 * len(RATES), 3)]
        return np.array(found, np.float64).reshape(len(RATES), -1)

    per_s, hosts, known = table(1), table(2), np.repeat(table(3), MINUTES, axis=1)
    inside = (ends > start.timestamp()) & (ends <= end.timestamp()) & (hosts.sum(axis=0) > 0)
    return FleetMinutes(ends[inside], per_s[:, inside], hosts[:, inside], known[:, inside])


def join_minutes(earlier: FleetMinutes, later: FleetMinutes) -> FleetMinutes:
    """Both stretches; none of their minutes is in both."""
    return FleetMinutes(
        np.concatenate((earlier.ends_s, later.ends_s)),
        *(
            np.concatenate((getattr(earlier, name), getattr(later, name)), axis=1)
            for name in ("per_s", "hosts", "known")
        ),
    )
