"""Sums of the ledger by host and bucket of time: the server sums rows up, packed days are summed up here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import bucket_start, segments
from tierscope.domain.ledger import COLUMN_INDEX
from tierscope.storage.base.binary import copy_columns
from tierscope.storage.ledger.days import Floats, Ints, Moves, beside_rows, days_of_window, may_be_packed


@dataclass(frozen=True, slots=True)
class MoveSums:
    """n groups of rows, by host and then bucket: `buckets_us` are starts of (start, start + width], 0 without a width.

    Of each group: `seconds` [n] of all of its rows, and for each of k columns [n, k] its sum, the rows that have it,
    and the seconds of those.
    """

    host_ids: Ints
    buckets_us: Ints
    seconds: Floats
    sums: Ints
    counts: Ints
    seconds_of: Floats

    def totals(self, place: int) -> Floats:
        """Sums of a column [n], NaN where no row has it."""
        return np.where(self.counts[:, place] > 0, self.sums[:, place].astype(np.float64), np.nan)

    def means(self, place: int) -> Floats:
        """Its mean over the rows that have it [n]."""
        return self.totals(place) / np.maximum(self.counts[:, place], 1)

    def rates(self, place: int) -> Floats:
        """Its sum by second in which it was counted [n]."""
        seconds = self.seconds_of[:, place]
        return self.totals(place) / np.where(seconds > 0, seconds, np.nan)


def sum_moves(
    session: ReadSession,
    keys: Sequence[str],
    start: datetime,
    end: datetime,
    *,
    service_id: int = 0,
    host_ids: Sequence[int] | None = None,
    width_us: int | None = None,
    by_host: bool = True,
) -> MoveSums:
    """Sum columns over rows of (start, end]; `host_ids` None = of all hosts, `by_host` False = of all of them together.

    Raises:
        KeyError: the ledger has no such column.
    """
    if unknown := set(keys) - COLUMN_INDEX.keys():
        raise KeyError(f"the ledger has no columns {sorted(unknown)}")
    query = _query(keys, start, end, service_id, host_ids, width_us, by_host=by_host)

    def read_rows() -> list[MoveSums]:
        found = copy_columns(session, query)
        if found is None:
            return []
        shape = len(keys), len(found.rows)
        sums, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        seconds = np.zeros(shape)
        for place in range(len(keys)):
            at = 3 + 3 * place
            sums[place], counts[place], seconds[place] = found.ints(at), found.ints(at + 1), found.floats(at + 2)
        return [MoveSums(found.ints(0), found.ints(1), found.floats(2), sums.T, counts.T, seconds.T)]

    if not may_be_packed(start):
        return _joined(read_rows(), len(keys))
    rows, packed = beside_rows(session, days_of_window(host_ids, service_id, start, end), read_rows, keys)
    days = [moves.between(start, end) for moves in packed]
    return _joined([*rows, *(_sum_day(day, width_us, by_host=by_host) for day in days if len(day.times_us))], len(keys))


def _query(
    keys: Sequence[str],
    start: datetime,
    end: datetime,
    service_id: int,
    host_ids: Sequence[int] | None,
    width_us: int | None,
    *,
    by_host: bool,
) -> str:
    bucket = "0::bigint"
    if width_us is not None:
        bucket = f"((extract(epoch FROM ts) * 1000000)::bigint - 1) / {int(width_us)} * {int(width_us)}"
    cells = [
        f"coalesce(sum({key}), 0)::bigint, count({key}),"
        f" coalesce(sum(dt_seconds) FILTER (WHERE {key} IS NOT NULL), 0)::float8"
        for key in keys
    ]
    whose = "" if host_ids is None else f" AND host_id IN ({', '.join(str(int(host)) for host in host_ids) or 'NULL'})"
    columns = [
        "host_id" if by_host else "0::bigint",
        bucket,
        "coalesce(sum(dt_seconds), 0)::float8",
        *cells,
    ]
    return (
        f"SELECT {', '.join(columns)} FROM tier_moves WHERE service_id = {int(service_id)}"  # noqa: S608 - names and numbers of our own
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}'{whose} GROUP BY 1, 2 ORDER BY 1, 2"
    )


def _sum_day(moves: Moves, width_us: int | None, *, by_host: bool) -> MoveSums:
    times = moves.times_us
    buckets, begins = segments(np.zeros_like(times) if width_us is None else bucket_start(times, width_us))
    return MoveSums(
        np.full(len(buckets), moves.host_id if by_host else 0),
        buckets,
        np.add.reduceat(moves.seconds, begins),
        np.add.reduceat(moves.values, begins, axis=0),
        np.add.reduceat(moves.present, begins, axis=0, dtype=np.int64),
        np.add.reduceat(np.where(moves.present, moves.seconds[:, None], 0.0), begins, axis=0),
    )


def _joined(parts: Sequence[MoveSums], width: int) -> MoveSums:
    """All parts as one, the groups that several of them have added up."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.zeros(0, np.int64)
        flat = np.zeros((0, width), np.int64)
        return MoveSums(none, none, np.zeros(0), flat, flat, np.zeros((0, width)))
    subjects = np.stack(
        [np.concatenate([getattr(part, name) for part in parts]) for name in ("host_ids", "buckets_us")]
    )
    found, place = np.unique(subjects, axis=1, return_inverse=True)
    place = place.reshape(-1)

    def added(name: str) -> Floats | Ints:
        given = np.concatenate([getattr(part, name) for part in parts])
        total = np.zeros((found.shape[1], *given.shape[1:]), given.dtype)
        np.add.at(total, place, given)
        return total

    return MoveSums(found[0], found[1], *(added(name) for name in ("seconds", "sums", "counts", "seconds_of")))  # type: ignore[arg-type]
