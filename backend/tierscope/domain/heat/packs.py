"""Rows of heat packed exactly, and folded straight from their packs."""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.folding import MISSING, WIDTHS, Strata
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, fold_rows, make_series

Ints = npt.NDArray[np.int64]

_ARRAYS = tuple(
    field.name
    for field in fields(HeatRow)
    if field.name
    not in ("end_us", "boottime_ns", "method", "groups", "tiers", "period_events", "duty_ratio", "bits_per_interval")
)
"""In the order of packed bodies: new ones come last, and bodies packed before them lack them."""
_KINDS = _ARRAYS.index("kinds")
_BITS = 7


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
    heads, data = _open(body)
    at = 0
    rows = []
    for end_us, boottime_ns, period, duty, groups, tiers, lengths, *later in heads:
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


def fold_packs(host_id: int, bodies: Sequence[bytes], method: Method) -> HeatSeries | None:
    """What `fold_rows` makes of the rows of these packs, without making the rows. None without rows."""
    opened = [_open(body) for body in bodies]
    heads = [head for some, _ in opened for head in some]
    ends = np.array([head[0] for head in heads], np.int64)
    if not len(ends):
        return None
    if (np.diff(ends) <= 0).any():
        return fold_rows(host_id, [row for body in bodies for row in unpack_rows(body, method)])
    parts: dict[str, list[Ints]] = {name: [] for name in WIDTHS}
    for lengths, some in _runs(opened):
        for name, values in _columns(lengths, some).items():
            parts[name].append(values)
    sizes = np.array([head[6][_KINDS] for head in heads], np.int64)
    strata = Strata(
        n_intervals=len(heads),
        interval=np.repeat(np.arange(len(heads)), sizes),
        tiers=[tier for head in heads for tier in head[5]],
        columns={name: values[0] if len(values) == 1 else np.concatenate(values) for name, values in parts.items()},
        bits_per_interval=max(_bits(head) for head in heads),
    )
    return make_series(host_id, method, ends, strata)


def _bits(head: Sequence[Any]) -> int:
    """Bits per interval, which earlier releases did not write."""
    return int(head[_BITS]) if len(head) > _BITS else 1


def _open(body: bytes) -> tuple[list[Any], Ints]:
    """The heads and the values of a pack."""
    head, _, raw = body.partition(b"\n")
    shuffled = np.frombuffer(raw, np.uint8).reshape(8, -1)
    return json.loads(head), np.ascontiguousarray(shuffled.T).view("<i8").reshape(-1).astype(np.int64, copy=False)


def _runs(opened: Sequence[tuple[list[Any], Ints]]) -> list[tuple[list[int], list[Ints]]]:
    """Values of neighbouring rows whose columns have the same lengths, as [rows, values]."""
    runs: list[tuple[list[int], list[Ints]]] = []
    for heads, data in opened:
        first = heads[0][6] if heads else []
        if all(head[6] == first for head in heads):
            blocks = [(first, data.reshape(len(heads), -1))] if heads else []
        else:
            ends = np.cumsum([sum(max(length, 0) for length in head[6]) for head in heads])
            rows = np.split(data, ends[:-1])
            blocks = [(head[6], row.reshape(1, -1)) for head, row in zip(heads, rows, strict=True)]
        for lengths, block in blocks:
            if runs and runs[-1][0] == lengths:
                runs[-1][1].append(block)
            else:
                runs.append((lengths, [block]))
    return runs


def _columns(lengths: Sequence[int], blocks: Sequence[Ints]) -> dict[str, Ints]:
    """The columns that folding needs, of rows with the same lengths; what they lack is filled."""
    data = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    n, strata = len(data), lengths[_KINDS]
    found: dict[str, Ints] = {}
    at = 0
    for name, length in zip(_ARRAYS, lengths, strict=False):
        if length >= 0 and name in WIDTHS:
            found[name] = np.ascontiguousarray(data[:, at : at + length]).reshape(-1)
        at += max(length, 0)
    for name, value in MISSING.items():
        found.setdefault(name, np.full(n * strata * WIDTHS[name], value, np.int64))
    return found
