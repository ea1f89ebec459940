"""The ledger of all hosts of a service: what each has counted since midnight, hour by hour.

Two such states of one day differ by what happened between them, so that the totals of any window of whole hours need
two states per day at most, however many hosts there are. Sums are exact: they are whole numbers, added.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMN_KEYS, COLUMNS, SHARES

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_GAUGES = np.array([column.gauge for column in COLUMNS])
_SHARES = np.isin(COLUMN_KEYS, SHARES)


@dataclass(frozen=True, slots=True)
class Gathered:
    """h hosts, c columns of the ledger. `sums`, `counts` [c, h] whole numbers, `seconds` [c, h] observed.

    `newest` [c, h] is the newest value of a gauge, 0 elsewhere. `rows` [h] intervals. `trusts` [h] refer to the
    descriptions of what each host's columns are made of.
    """

    host_ids: Ints
    rows: Ints
    trusts: Ints
    sums: Ints
    counts: Ints
    newest: Ints
    seconds: Floats

    def rates(self) -> Floats:
        """Rates of flows, and means of gauges, summed over hosts [c], of shares the mean; NaN where no host has any."""
        over = np.where(_GAUGES[:, None], self.counts, self.seconds)
        parts = np.divide(self.sums, over, out=np.zeros(self.sums.shape), where=over > 0)
        having = (self.counts > 0).sum(axis=1)
        found: Floats = np.where(having > 0, parts.sum(axis=1) / np.where(_SHARES, np.maximum(having, 1), 1), np.nan)
        return found


def nothing() -> Gathered:
    """No hosts."""
    none, wide = np.zeros(0, np.int64), np.zeros((len(COLUMN_KEYS), 0), np.int64)
    return Gathered(none, none, none, wide, wide, wide, wide.astype(np.float64))


def add(one: Gathered, later: Gathered) -> Gathered:
    """What both stretches counted; states are those of the later one where it has any."""
    return _combine(one, later, 1)


def subtract(whole: Gathered, before: Gathered) -> Gathered:
    """What happened since `before`, of a state that contains it. Hosts without rows since are left out."""
    found = _combine(before, whole, -1)
    return _take(found, np.flatnonzero(found.rows > 0))


def drop_host(found: Gathered, host_id: int) -> Gathered:
    """The same without a host."""
    return _take(found, np.flatnonzero(found.host_ids != host_id))


def _combine(one: Gathered, later: Gathered, sign: int) -> Gathered:
    hosts = np.union1d(one.host_ids, later.host_ids)
    a, b = _spread(one, hosts), _spread(later, hosts)
    seen = np.isin(hosts, later.host_ids)
    counts = b.counts + sign * a.counts
    return Gathered(
        host_ids=hosts,
        rows=b.rows + sign * a.rows,
        trusts=np.where(seen & (b.trusts != 0), b.trusts, a.trusts),
        sums=b.sums + sign * a.sums,
        counts=counts,
        newest=np.where(b.counts > 0, b.newest, a.newest),
        seconds=np.where(counts > 0, b.seconds + sign * a.seconds, 0.0),
    )


def _spread(found: Gathered, hosts: Ints) -> Gathered:
    """The same over a wider list of hosts, zero where they have nothing."""
    if np.array_equal(found.host_ids, hosts):
        return found
    places = np.searchsorted(hosts, found.host_ids)

    def wide(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        out = np.zeros((*values.shape[:-1], len(hosts)), values.dtype)
        out[..., places] = values
        return out

    names = ("rows", "trusts", "sums", "counts", "newest", "seconds")
    return Gathered(hosts, *(wide(getattr(found, name)) for name in names))  # type: ignore[arg-type]


def _take(found: Gathered, places: Ints) -> Gathered:
    names = ("host_ids", "rows", "trusts", "sums", "counts", "newest", "seconds")
    return Gathered(*(getattr(found, name)[..., places] for name in names))


_DTYPES = (
    ("rows", "<i8"),
    ("trusts", "<i8"),
    ("sums", "<i8"),
    ("counts", "<i4"),
    ("newest", "<i8"),
    ("seconds", "<f8"),
)


def pack_gathered(found: Gathered) -> bytes:
    """All hosts, and those columns that any of them has."""
    kept = np.flatnonzero((found.counts > 0).any(axis=1))
    keys = [COLUMN_KEYS[place] for place in kept]
    head = json.dumps({"hosts": len(found.host_ids), "columns": keys}).encode() + b"\n"
    parts = [found.host_ids.astype("<i8").tobytes()]
    for name, dtype in _DTYPES:
        values = getattr(found, name)
        flat = np.ascontiguousarray(values if values.ndim == 1 else values[kept]).astype(dtype).reshape(-1)
        # Planes of bytes: the high ones are nearly all zero, and shrink to nothing.
        parts.append(np.ascontiguousarray(flat.view(np.uint8).reshape(-1, flat.itemsize).T).tobytes())
    return head + b"".join(parts)


def unpack_gathered(body: bytes) -> Gathered:
    """What was packed. Columns that this release does not know are left out."""
    head, _, raw = body.partition(b"\n")
    described = json.loads(head)
    n, keys = int(described["hosts"]), list(described["columns"])
    known = [(at, COLUMN_INDEX[key]) for at, key in enumerate(keys) if key in COLUMN_INDEX]
    hosts = np.frombuffer(raw, "<i8", n).astype(np.int64)
    at = n * 8
    arrays: list[npt.NDArray[Any]] = []
    for name, dtype in _DTYPES:
        wide = name not in ("rows", "trusts")
        count, size = n * (len(keys) if wide else 1), np.dtype(dtype).itemsize
        planes = np.frombuffer(raw, np.uint8, count * size, at).reshape(size, count)
        flat = np.ascontiguousarray(planes.T).view(dtype).reshape(-1)
        at += count * size
        if not wide:
            arrays.append(flat.astype(np.int64))
            continue
        out = np.zeros((len(COLUMN_KEYS), n), np.float64 if dtype == "<f8" else np.int64)
        values = flat.reshape(len(keys), n)
        for source, target in known:
            out[target] = values[source]
        arrays.append(out)
    return Gathered(hosts, *arrays)


def gather(
    host_ids: Sequence[int], cells: Sequence[Sequence[float | int | None]], trusts: Sequence[int], rows: Sequence[int]
) -> Gathered:
    """From one row per host: for each column its sum, observed seconds, count and newest value."""
    table = np.array([[0 if cell is None else cell for cell in row] for row in cells], object)
    shape = (len(host_ids), len(COLUMN_KEYS), 4)
    table = table.reshape(shape)
    order = np.argsort(np.array(host_ids, np.int64))

    def column(place: int, dtype: type) -> npt.NDArray[np.generic]:
        return np.ascontiguousarray(table[order, :, place].T.astype(dtype))

    return Gathered(
        np.array(host_ids, np.int64)[order],
        np.array(rows, np.int64)[order],
        np.array(trusts, np.int64)[order],
        column(0, np.int64),  # type: ignore[arg-type]
        column(2, np.int64),  # type: ignore[arg-type]
        column(3, np.int64),  # type: ignore[arg-type]
        column(1, np.float64),  # type: ignore[arg-type]
    )
