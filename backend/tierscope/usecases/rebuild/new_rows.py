"""New rows of the ledgers of many hosts and of their services, made together where their plans are alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import TEN_MINUTES_US, bucket_start
from tierscope.domain.counters.monotonic import GAP_INTERVALS, Bools, Floats, nominal_step
from tierscope.domain.ledger import Ledger, Plan
from tierscope.domain.ledger.machine import Machine
from tierscope.domain.ledger.plan import Likeness, PickedPlan
from tierscope.domain.ledger.stacked import Pairs, build_stacked
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.counters.newest import Sample

_LOOKED_AT = 32
"""Newest rows that can lie in the buckets of new samples, and one before."""


@dataclass(frozen=True, slots=True)
class NewScope:
    """New rows of a whole host (`service_id` 0, no `scope`) or of a service on it."""

    service_id: int
    scope: str | None
    plan: Plan
    ledger: Ledger


@dataclass(slots=True)
class NewRows:
    """A host whose ledger `rows` ends on the first of `samples`; the others add a row each to every scope."""

    host_id: int
    machine: Machine
    services: Mapping[int, str]
    rows: Ledger
    samples: tuple[Sample, ...]
    scopes: list[NewScope] = field(default_factory=list)

    @property
    def own(self) -> NewScope:
        """The whole host."""
        return self.scopes[0]

    @property
    def layout_id(self) -> int:
        """The layout of all samples."""
        return self.samples[0].layout_id


@dataclass(frozen=True, slots=True)
class _Wanted:
    part: NewRows
    service_id: int
    scope: str | None
    picked: PickedPlan
    gap: Bools


def make_rows(transaction: WriteTransaction, new: Sequence[NewRows]) -> None:
    """Fill the scopes of all hosts: the whole host first, then each service that its layout counts apart."""
    layouts = read_layouts(transaction, {part.layout_id for part in new})
    alike: dict[Likeness, list[_Wanted]] = {}
    for part in new:
        gap = _gaps(part)
        for service_id, scope, picked in part.machine.pick_each(layouts[part.layout_id], part.services):
            alike.setdefault(picked.likeness, []).append(_Wanted(part, service_id, scope, picked, gap))
    made: dict[tuple[int, int], NewScope] = {}
    for group in alike.values():
        ledger = build_stacked(_stack(group), group[0].picked.columns)
        at = 0
        for wanted in group:
            rows = ledger.rows(slice(at, at + len(wanted.gap)))
            at += len(wanted.gap)
            made[wanted.part.host_id, wanted.service_id] = NewScope(
                wanted.service_id, wanted.scope, wanted.picked.plan, rows
            )
    for part in new:
        wanted_ids = [0, *part.services]
        part.scopes = [made[part.host_id, service] for service in wanted_ids if (part.host_id, service) in made]


def _stack(group: Sequence[_Wanted]) -> Pairs:
    before = [(sample, wanted.picked.places) for wanted in group for sample in wanted.part.samples[:-1]]
    after = [(sample, wanted.picked.places) for wanted in group for sample in wanted.part.samples[1:]]
    times = np.array([sample.at_us for sample, _ in after], np.int64) / 1e6
    begins = np.array([sample.at_us for sample, _ in before], np.int64) / 1e6
    boots = [np.array([sample.boot_ref for sample, _ in side], np.int64) for side in (before, after)]
    return Pairs(
        times_s=times,
        dt_seconds=times - begins,
        same_boot=boots[0] == boots[1],
        gap=np.concatenate([wanted.gap for wanted in group]),
        before=np.stack([sample.values[places] for sample, places in before]),
        after=np.stack([sample.values[places] for sample, places in after]),
        before_present=np.stack([sample.present[places] for sample, places in before]),
        after_present=np.stack([sample.present[places] for sample, places in after]),
    )


def _gaps(part: NewRows) -> Bools:
    """Which new steps are gaps: longer than the usual step of the bucket that they end in, as far as it has come."""
    rows = part.rows.rows(slice(-_LOOKED_AT, None))
    new = np.array([sample.at_us for sample in part.samples], np.int64) / 1e6
    begin = rows.times_s[:1] - rows.dt_seconds[:1] if len(rows.times_s) else new[:1]
    times: Floats = np.concatenate([begin, rows.times_s, new[1:]])
    buckets = bucket_start(np.rint(times * 1e6).astype(np.int64), TEN_MINUTES_US)
    out = np.zeros(len(new) - 1, bool)
    for place in range(1, len(new)):
        inside = np.flatnonzero(buckets == buckets[len(times) - len(new) + place])
        steps = times[max(inside[0] - 1, 0) : inside[-1] + 1]
        out[place - 1] = new[place] - new[place - 1] > GAP_INTERVALS * nominal_step(steps)
    return out
