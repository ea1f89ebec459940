"""Heat of all hosts of a service in columns: what a bucket of time keeps of every host, packed into one body.

Bytes are kept as shares of the group's resident bytes in 1/65535, cumulated over the histogram: a threshold is then
two columns, whatever it is. A share is off by at most 0.8e-5; resident bytes are exact to single precision.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.beside import BESIDE_PLACES, BESIDE_VALUES
from tierscope.domain.heat.classes import BUCKETS, COUNTS, EDGES, FOLDED_COLUMNS, WINDOWS
from tierscope.domain.heat.rows import Group, HeatSeries, Method

Ints = npt.NDArray[np.int64]
Shares = npt.NDArray[np.uint16]
Singles = npt.NDArray[np.float32]

WINDOW_EDGES = [EDGES.index(length) - 1 for length in WINDOWS]
"""The places of the windows among the columns of `below`."""
FULL = 65535
"""The whole of a group's resident bytes."""
_BESIDE_UNSAID = 8
"""Values beside heat in bodies that do not say how many they have."""


@dataclass(frozen=True, slots=True)
class HeatColumns:
    """t buckets over g groups and h hosts; hosts ascend.

    `n_intervals` [t, h] is 0 where a host has no such bucket. `resident` [t, g, h]: mean bytes. `below` [t, 9, g, h]:
    active less than 1, 2, 3, 5, 10, 20, 40, 64 intervals ago, and at all. `known` [t, 9, g, h]: the last column of
    `below`, and never active while at least 0, 1, 2, 3, 5, 10, 20, 40, 64 valid intervals ran. `counts` [t, 11, g, h]:
    active in at most 0..10 of the last 10 intervals. `high` [t, 4, g, h]: at most this was active within 1, 2, 5 and
    10 intervals; of `coarse` [t, h] hosts alone. `beside` [t, b, g, h]: means of what stands beside heat, in the order
    of `BESIDE_PLACES`. The last three are None where no host has any.
    """

    method: Method
    host_ids: Ints
    ends_us: Ints
    n_intervals: npt.NDArray[np.uint16]
    groups: tuple[Group, ...]
    resident: Singles
    below: Shares
    known: Shares
    counts: Shares
    coarse: npt.NDArray[np.bool_]
    high: Shares | None
    beside: Singles | None

    @property
    def n_bytes(self) -> int:
        """Memory that the arrays take."""
        arrays = (self.resident, self.below, self.known, self.counts, self.high, self.beside, self.n_intervals)
        return sum(values.nbytes for values in arrays if values is not None)


def make_columns(series: Sequence[HeatSeries]) -> HeatColumns:
    """The columns of series of one method, at least one, whose buckets have common ends. Hosts stand once."""
    series = sorted(series, key=lambda part: part.host_id)
    ends = np.unique(np.concatenate([part.ends_us for part in series]))
    groups = tuple(sorted({group for part in series for group in part.groups}))
    place = {group: i for i, group in enumerate(groups)}
    shape = (len(ends), len(groups), len(series))
    names = dict(FOLDED_COLUMNS.values())
    sums = {name: np.zeros((*shape, width), np.int64) for name, width in names.items()}
    beside = np.zeros((*shape, BESIDE_VALUES), np.int64)
    n_intervals = np.zeros((shape[0], shape[2]), np.int64)
    for at_host, part in enumerate(series):
        rows = np.searchsorted(ends, part.ends_us)[:, None]
        columns = np.array([place[group] for group in part.groups], np.int64)[None, :]
        for name, width in names.items():
            values = getattr(part.folded, name)
            sums[name][rows, columns, at_host] = values[..., None] if width == 1 else values
        for name, place_in in BESIDE_PLACES.items():
            values = part.beside[name]
            beside[rows, columns, at_host, place_in] = values.reshape(*values.shape[:2], -1)
        n_intervals[rows[:, 0], at_host] = part.n_intervals
    return _quantise(series, ends, groups, sums, beside, n_intervals)


def _quantise(
    series: Sequence[HeatSeries], ends: Ints, groups: tuple[Group, ...], sums: dict[str, Ints], beside: Ints, n: Ints
) -> HeatColumns:
    resident = sums["resident"][..., 0]
    whole = np.where(resident > 0, resident, 1)[..., None]
    divisor = np.maximum(n, 1)[:, None, :]

    def share(values: Ints) -> Shares:
        scaled = np.clip(np.rint(values / whole * FULL), 0, FULL)
        return np.ascontiguousarray(np.moveaxis(scaled, -1, 1).astype(np.uint16))

    below = np.cumsum(sums["age"], axis=-1)
    above = np.cumsum(sums["never"][..., ::-1], axis=-1)[..., ::-1]
    coarse = (sums["hi"] != sums["lo"]).any(axis=(1, 3))
    return HeatColumns(
        method=series[0].method,
        host_ids=np.array([part.host_id for part in series], np.int64),
        ends_us=ends,
        n_intervals=n.astype(np.uint16),
        groups=groups,
        resident=(resident / divisor).astype(np.float32),
        below=share(below),
        known=share(below[..., -1:] + above),
        counts=share(np.cumsum(sums["count"], axis=-1)),
        coarse=coarse,
        high=share(sums["hi"]) if coarse.any() else None,
        beside=np.moveaxis(beside / divisor[..., None], -1, 1).astype(np.float32) if beside.any() else None,
    )


_DTYPES = {
    "n_intervals": "<u2",
    "resident": "<f4",
    "below": "<u2",
    "known": "<u2",
    "coarse": "?",
    "high": "<u2",
    "beside": "<f4",
}
_WIDTHS = {"below": BUCKETS, "known": BUCKETS, "counts": COUNTS, "high": len(WINDOWS), "beside": BESIDE_VALUES}


def pack_columns(columns: HeatColumns, at: int) -> tuple[bytes, bytes]:
    """Bucket `at` as (body, counts): only the hosts that have it. The counts serve the frequency scheme alone."""
    here = columns.n_intervals[at] > 0
    arrays = []
    there = []
    for name, dtype in _DTYPES.items():
        values = getattr(columns, name)
        if values is not None:
            arrays.append(np.ascontiguousarray(values[at][..., here].astype(dtype)).tobytes())
            there.append(name)
    hosts = columns.host_ids[here].astype("<i8").tobytes()
    described = {"groups": columns.groups, "hosts": int(here.sum()), "arrays": there, "beside": BESIDE_VALUES}
    head = json.dumps(described, ensure_ascii=False)
    counts = np.ascontiguousarray(columns.counts[at][..., here].astype("<u2")).tobytes()
    return head.encode() + b"\n" + hosts + b"".join(arrays), counts


@dataclass(frozen=True, slots=True)
class Packed:
    """A bucket as it was stored; `counts` None where they were not read."""

    end_us: int
    body: bytes
    counts: bytes | None


def unpack_columns(packs: Sequence[Packed], method: Method) -> HeatColumns:
    """The columns of buckets, at least one, in order of time, over the union of their hosts and groups."""
    opened = [_open(pack) for pack in packs]
    hosts = np.unique(np.concatenate([found.hosts for found in opened]))
    groups = tuple(sorted({group for found in opened for group in found.groups}))
    place = {group: i for i, group in enumerate(groups)}
    shape = (len(packs), len(groups), len(hosts))
    with_counts = all(pack.counts is not None for pack in packs)
    out: dict[str, npt.NDArray[np.generic] | None] = {
        "n_intervals": np.zeros((shape[0], shape[2]), np.uint16),
        "coarse": np.zeros((shape[0], shape[2]), bool),
        "resident": np.zeros(shape, np.float32),
        "counts": np.zeros((shape[0], COUNTS if with_counts else 0, *shape[1:]), np.uint16),
    }
    for name in ("below", "known", "high", "beside"):
        there = any(name in found.arrays for found in opened)
        wide = (shape[0], _WIDTHS[name], *shape[1:])
        out[name] = np.zeros(wide, np.float32 if name == "beside" else np.uint16) if there else None
    for at, found in enumerate(opened):
        whole = found.groups == groups and len(found.hosts) == len(hosts)
        rows = np.array([place[group] for group in found.groups], np.int64)
        columns = np.searchsorted(hosts, found.hosts)
        # Where activity is known exactly, no more than that was active.
        exact = {"high": found.arrays["below"][WINDOW_EDGES]} if "high" not in found.arrays else {}
        for name, values in (exact | found.arrays).items():
            target = out[name]
            if target is None or (name == "counts" and not with_counts):
                continue
            if whole:
                target[at] = values
            elif values.ndim == 1:
                target[at][columns] = values
            else:
                target[at][..., rows[:, None], columns[None, :]] = values
    return HeatColumns(
        method=method,
        host_ids=hosts,
        ends_us=np.array([pack.end_us for pack in packs], np.int64),
        groups=groups,
        **out,  # type: ignore[arg-type]  # by the names of the fields
    )


@dataclass(frozen=True, slots=True)
class _Opened:
    """A bucket's hosts, groups and arrays, viewed in its body."""

    hosts: Ints
    groups: tuple[Group, ...]
    arrays: dict[str, npt.NDArray[np.generic]]


def _open(pack: Packed) -> _Opened:
    head, _, raw = pack.body.partition(b"\n")
    described = json.loads(head)
    groups = tuple((kind, tier, int(size)) for kind, tier, size in described["groups"])
    n = int(described["hosts"])
    hosts = np.frombuffer(raw, "<i8", n).astype(np.int64)
    at = n * 8
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for name in described["arrays"]:
        dtype = np.dtype(_DTYPES[name])
        shape = (n,) if name in ("n_intervals", "coarse") else (len(groups), n)
        if name in _WIDTHS:
            wide = int(described.get("beside", _BESIDE_UNSAID)) if name == "beside" else _WIDTHS[name]
            shape = (wide, *shape)
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(raw, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    if "beside" in arrays:
        arrays["beside"] = _fit(arrays["beside"])
    if pack.counts is not None:
        arrays["counts"] = np.frombuffer(pack.counts, "<u2").reshape(COUNTS, len(groups), n)
    return _Opened(hosts, groups, arrays)


def _fit(beside: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Values beside heat as this release has them. Those that the body lacks are zero: nothing was measured."""
    kept = beside[:BESIDE_VALUES]
    lacking = np.zeros((BESIDE_VALUES - len(kept), *kept.shape[1:]), kept.dtype)
    return np.concatenate((kept, lacking)) if len(lacking) else kept


def drop_host(columns: HeatColumns, host_id: int) -> HeatColumns | None:
    """The same without a host; None where there is no other."""
    kept = columns.host_ids != host_id
    return take_hosts(columns, kept) if kept.any() else None


def take_hosts(columns: HeatColumns, kept: npt.NDArray[np.bool_]) -> HeatColumns:
    """Some of the hosts, by a mask over all of them."""
    values = {field.name: getattr(columns, field.name) for field in fields(HeatColumns)}
    for name in ("host_ids", "n_intervals", "resident", "below", "known", "counts", "coarse", "high", "beside"):
        values[name] = None if values[name] is None else values[name][..., kept]
    return HeatColumns(**values)


def take_groups(columns: HeatColumns, places: Sequence[int]) -> HeatColumns:
    """Some of the groups."""
    values = {field.name: getattr(columns, field.name) for field in fields(HeatColumns)}
    values["groups"] = tuple(columns.groups[i] for i in places)
    index = index_of(places)
    values["resident"] = columns.resident[:, index]
    for name in _WIDTHS:
        values[name] = None if values[name] is None else values[name][:, :, index]
    return HeatColumns(**values)


def index_of(places: Sequence[int]) -> slice | list[int]:
    """An index of these places: of neighbours a slice, so that nothing is copied."""
    neighbours = list(places) == list(range(places[0], places[0] + len(places)))
    return slice(places[0], places[0] + len(places)) if neighbours else list(places)
