"""Heat as it arrives: one row per interval of a service on a host; packing rows; folding them by kind and tier."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.beside import SMALL_PAGE_BYTES, Beside, combine_sampled, join_beside
from tierscope.domain.heat.classes import BUCKETS, COUNTS, WINDOWS, Folded, file_partial, valid_run

Ints = npt.NDArray[np.int64]

BACKENDS = ("", "pebs", "ibs", "spe", "abit_walk", "idle_page", "damon_pages", "damon_regions", "referenced", "trace")
GRANULARITIES = ("", "page", "region", "vma")
KINDS = ("", "anon", "file", "tmpfs")
METHODS = ("", "pebs", "ibs", "spe", "abit", "abit", "damon", "damon", "referenced", "trace")
"""By backend number: the family that figures name. Series of two methods are never joined."""
PREFERENCE = (9, 4, 5, 1, 2, 3, 6, 7, 8)
"""Backends from the most to the least telling, for choosing one where several measured."""
HISTORY_BITS = 64
_HOT_WINDOW = WINDOWS.index(2)


@dataclass(frozen=True, slots=True)
class Method:
    """What measured: numbers of the contract's enums, and the nominal interval."""

    backend: int
    granularity: int
    interval_ns: int

    @property
    def family(self) -> str:
        """The name that figures carry."""
        return METHODS[self.backend] if self.backend < len(METHODS) else "unknown"


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One interval. Arrays run over n groups; bytes are int64; None where not measured.

    `age_bytes`, `never_bytes` [n * 9]; `active_count_bytes` [n * 11]; `active_lo_bytes`, `active_hi_bytes`,
    `distinct_pages`, `f1_pages`, `f2_pages` [n * 4]; the `hot_` pair [n * 3]. `sampled_pages` [n] is 0 where a row
    rests on all pages; `written_bytes` [n * 4] and `subpage_active_bytes` [n] are -1 where that row was not measured.
    """

    end_us: int
    boottime_ns: int | None
    method: Method
    groups: tuple[str, ...]
    kinds: Ints
    page_sizes: Ints
    tiers: tuple[str, ...]
    validity: Ints
    resident_bytes: Ints
    age_bytes: Ints
    never_bytes: Ints
    active_count_bytes: Ints
    active_lo_bytes: Ints
    active_hi_bytes: Ints
    load_samples: Ints | None
    store_samples: Ints | None
    period_events: float | None
    duty_ratio: float | None
    distinct_pages: Ints | None
    f1_pages: Ints | None
    f2_pages: Ints | None
    hot_intersection_bytes: Ints | None
    hot_union_bytes: Ints | None
    sampled_pages: Ints | None = None
    written_bytes: Ints | None = None
    subpage_active_bytes: Ints | None = None
    bits_per_interval: int = 1


_ARRAYS = tuple(
    field.name
    for field in fields(HeatRow)
    if field.name
    not in ("end_us", "boottime_ns", "method", "groups", "tiers", "period_events", "duty_ratio", "bits_per_interval")
)
"""In the order of packed bodies: new ones come last, and bodies packed before them lack them."""


def pack_rows(rows: Sequence[HeatRow]) -> bytes:
    """Pack rows of one method exactly: a line of JSON, then all arrays as little-endian int64."""
    heads = []
    arrays = []
    for row in rows:
        lengths = []
        for name in _ARRAYS:
            values = getattr(row, name)
            lengths.append(-1 if values is None else len(values))
            if values is not None:
                arrays.append(values)
        head = [row.end_us, row.boottime_ns, row.period_events, row.duty_ratio, row.groups, row.tiers, lengths]
        heads.append([*head, row.bits_per_interval])
    data = np.concatenate(arrays).astype("<i8") if arrays else np.zeros(0, "<i8")
    raw = np.ascontiguousarray(data.view(np.uint8).reshape(-1, 8).T).tobytes()
    return json.dumps(heads, ensure_ascii=False).encode() + b"\n" + raw


def unpack_rows(body: bytes, method: Method) -> list[HeatRow]:
    """The rows that `pack_rows` was given, by this release or an earlier one, whose bodies lack later columns."""
    head, _, raw = body.partition(b"\n")
    shuffled = np.frombuffer(raw, np.uint8).reshape(8, -1)
    data = np.ascontiguousarray(shuffled.T).view("<i8").reshape(-1).astype(np.int64)
    at = 0
    rows = []
    for end_us, boottime_ns, period, duty, groups, tiers, lengths, *later in json.loads(head):
        arrays: dict[str, Ints | None] = {}
        for name, length in zip(_ARRAYS, lengths, strict=False):
            arrays[name] = None if length < 0 else data[at : at + length]
            at += max(length, 0)
        rows.append(
            HeatRow(
                end_us=end_us,
                boottime_ns=boottime_ns,
                method=method,
                groups=tuple(groups),
                tiers=tuple(tiers),
                period_events=period,
                duty_ratio=duty,
                bits_per_interval=later[0] if later else 1,
                **arrays,  # type: ignore[arg-type]
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class HeatSeries:
    """Heat of one service on one host by one method: t buckets over g groups of (kind, tier).

    `ends_us` [t] are ends of intervals, or of buckets of `n_intervals` [t] of them, over which `folded` [t, g] is a
    sum. `history` is the longest run of valid intervals seen.
    """

    host_id: int
    method: Method
    ends_us: Ints
    n_intervals: Ints
    kinds: tuple[str, ...]
    tiers: tuple[str, ...]
    folded: Folded
    beside: Beside
    history: int


def fold_rows(host_id: int, rows: Sequence[HeatRow]) -> HeatSeries | None:
    """Fold rows of one method by (kind, tier), with memory behind a missing interval filed as unknown.

    Of rows with one end the last wins. None without rows.
    """
    rows = sorted({row.end_us: row for row in rows}.values(), key=lambda row: row.end_us)
    if not rows:
        return None
    sizes = np.array([len(row.kinds) for row in rows])
    kinds = np.concatenate([row.kinds for row in rows])
    tiers = [tier for row in rows for tier in row.tiers]
    labels = [
        (KINDS[kind] if kind < len(KINDS) else "", tier) for kind, tier in zip(kinds.tolist(), tiers, strict=True)
    ]
    groups = sorted(set(labels))
    place = {label: i for i, label in enumerate(groups)}
    column = np.array([place[label] for label in labels], np.int64)
    interval = np.repeat(np.arange(len(rows)), sizes)

    def gather(name: str, width: int) -> Ints:
        return np.concatenate([getattr(row, name) for row in rows]).reshape(-1, width)

    validity = np.concatenate([row.validity for row in rows]).view(np.uint64)
    age, never = file_partial(gather("age_bytes", BUCKETS), gather("never_bytes", BUCKETS), validity)
    shape = (len(rows), len(groups))

    def place_sum(values: Ints) -> Ints:
        out = np.zeros((*shape, *values.shape[1:]), np.int64)
        np.add.at(out, (interval, column), values)
        return out

    folded = Folded(
        resident=place_sum(np.concatenate([row.resident_bytes for row in rows])),
        age=place_sum(age),
        never=place_sum(never),
        count=place_sum(gather("active_count_bytes", COUNTS)),
        lo=place_sum(gather("active_lo_bytes", len(WINDOWS))),
        hi=place_sum(gather("active_hi_bytes", len(WINDOWS))),
    )
    return HeatSeries(
        host_id=host_id,
        method=rows[0].method,
        ends_us=np.array([row.end_us for row in rows], np.int64),
        n_intervals=np.ones(len(rows), np.int64),
        kinds=tuple(kind for kind, _ in groups),
        tiers=tuple(tier for _, tier in groups),
        folded=folded,
        beside=_fold_beside(rows, interval * len(groups) + column, shape),
        history=min(int(valid_run(validity).max(initial=0)), *(HISTORY_BITS // row.bits_per_interval for row in rows)),
    )


def _fold_beside(rows: Sequence[HeatRow], cell: Ints, shape: tuple[int, int]) -> Beside:
    """What stands beside the histograms, by interval and group: `cell` [n] is the place of each stratum."""
    n_cells = shape[0] * shape[1]
    resident = np.concatenate([row.resident_bytes for row in rows])
    sizes = np.concatenate([row.page_sizes for row in rows])
    active = np.concatenate([row.active_lo_bytes for row in rows]).reshape(-1, len(WINDOWS))[:, _HOT_WINDOW]
    written = _optional(rows, "written_bytes", len(WINDOWS), missing=-1)
    subpages = _optional(rows, "subpage_active_bytes", 1, missing=-1)[:, 0]
    tracked = written.min(axis=1) >= 0
    told_apart = (subpages >= 0) & (sizes > SMALL_PAGE_BYTES)

    def place_sum(values: Ints) -> Ints:
        out = np.zeros((n_cells, *values.shape[1:]), np.int64)
        np.add.at(out, cell, values)
        return out.reshape(*shape, *values.shape[1:])

    sampled = combine_sampled(resident, _optional(rows, "sampled_pages", 1, missing=0)[:, 0], cell, n_cells)
    return Beside(
        sampled_pages=sampled.reshape(shape),
        written=place_sum(np.where(tracked[:, None], written, 0)),
        written_of=place_sum(np.where(tracked, resident, 0)),
        huge_active=place_sum(np.where(told_apart, active, 0)),
        huge_subpages=place_sum(np.where(told_apart, subpages, 0)),
    )


def _optional(rows: Sequence[HeatRow], name: str, width: int, *, missing: int) -> Ints:
    """A column of all rows [n, width]; `missing` where a row does not have it."""
    parts = []
    for row in rows:
        values = getattr(row, name)
        parts.append(np.full(len(row.kinds) * width, missing, np.int64) if values is None else values)
    return np.concatenate(parts).reshape(-1, width)


def coarsen(series: HeatSeries, width_us: int) -> HeatSeries:
    """Sum intervals into buckets of `width_us`; ends become bucket ends."""
    starts = (series.ends_us - 1) // width_us
    first = np.flatnonzero(np.concatenate(([True], starts[1:] != starts[:-1])))
    summed = Folded(*(np.add.reduceat(getattr(series.folded, field.name), first, axis=0) for field in fields(Folded)))
    return HeatSeries(
        host_id=series.host_id,
        method=series.method,
        ends_us=(starts[first] + 1) * width_us,
        n_intervals=np.add.reduceat(series.n_intervals, first),
        kinds=series.kinds,
        tiers=series.tiers,
        folded=summed,
        beside=series.beside.add_runs(first),
        history=series.history,
    )


def join_series(parts: Sequence[HeatSeries]) -> HeatSeries | None:
    """Join stretches of one host and method over the union of their groups, in order of time."""
    parts = [part for part in parts if len(part.ends_us)]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    groups = sorted({pair for part in parts for pair in zip(part.kinds, part.tiers, strict=True)})
    place = {pair: i for i, pair in enumerate(groups)}
    total = sum(len(part.ends_us) for part in parts)
    arrays = {}
    for field in fields(Folded):
        sample = getattr(parts[0].folded, field.name)
        arrays[field.name] = np.zeros((total, len(groups), *sample.shape[2:]), np.int64)
    columns_of = [[place[pair] for pair in zip(part.kinds, part.tiers, strict=True)] for part in parts]
    at = 0
    for part, columns in zip(parts, columns_of, strict=True):
        for name, out in arrays.items():
            out[at : at + len(part.ends_us), columns] = getattr(part.folded, name)
        at += len(part.ends_us)
    ends = np.concatenate([part.ends_us for part in parts])
    order = np.argsort(ends, kind="stable")
    return HeatSeries(
        host_id=parts[0].host_id,
        method=parts[0].method,
        ends_us=ends[order],
        n_intervals=np.concatenate([part.n_intervals for part in parts])[order],
        kinds=tuple(kind for kind, _ in groups),
        tiers=tuple(tier for _, tier in groups),
        folded=Folded(**arrays).take(order),
        beside=join_beside([part.beside for part in parts], columns_of, len(groups)).take(order),
        history=max(part.history for part in parts),
    )
