"""Columns cut and joined along time, so that an hour that is kept in memory is read once for all windows over it."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.columns import WINDOW_EDGES, HeatColumns, index_of, take_hosts

_BY_HOST = ("n_intervals", "coarse")
_BY_GROUP = ("resident", "below", "known", "counts", "high", "beside")


def take_buckets(columns: HeatColumns, places: Sequence[int]) -> HeatColumns:
    """Some of the buckets, at least one, in order of time; hosts without any of them are left out."""
    # A run of buckets is a view of what is kept; nothing is copied.
    index = index_of(places)
    values = {field.name: getattr(columns, field.name) for field in fields(HeatColumns)}
    for name in ("ends_us", *_BY_HOST, *_BY_GROUP):
        values[name] = None if values[name] is None else values[name][index]
    there = (values["n_intervals"] > 0).any(axis=0)
    taken = HeatColumns(**values)
    return taken if there.all() else take_hosts(taken, there)


def join_columns(parts: Sequence[HeatColumns]) -> HeatColumns:
    """Stretches of one method, at least one, after each other in order of time, over all their hosts and groups."""
    if len(parts) == 1:
        return parts[0]
    hosts = np.unique(np.concatenate([part.host_ids for part in parts]))
    groups = tuple(sorted({group for part in parts for group in part.groups}))
    place = {group: i for i, group in enumerate(groups)}
    ends_us = np.concatenate([part.ends_us for part in parts])
    out: dict[str, npt.NDArray[np.generic] | None] = {}
    for name in (*_BY_HOST, *_BY_GROUP):
        found = [values for part in parts if (values := getattr(part, name)) is not None]
        middle = () if name in _BY_HOST else (*found[0].shape[1:-2], len(groups)) if found else ()
        out[name] = np.zeros((len(ends_us), *middle, len(hosts)), found[0].dtype) if found else None
    at = 0
    for part in parts:
        here = slice(at, at + len(part.ends_us))
        rows = np.array([place[group] for group in part.groups], np.int64)[:, None]
        columns = np.searchsorted(hosts, part.host_ids)
        whole = part.groups == groups and len(columns) == len(hosts)
        for name, target in out.items():
            # Where activity is known exactly, no more than that was active.
            values = part.below[:, WINDOW_EDGES] if name == "high" and part.high is None else getattr(part, name)
            if target is None or values is None:
                continue
            if whole:
                target[here] = values
            elif name in _BY_HOST:
                target[here][:, columns] = values
            else:
                target[here][..., rows, columns[None, :]] = values
        at += len(part.ends_us)
    return HeatColumns(
        method=parts[0].method,
        host_ids=hosts,
        ends_us=ends_us,
        groups=groups,
        **out,  # type: ignore[arg-type]  # by the names of the fields
    )
