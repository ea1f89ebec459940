"""The newest hour of many hosts in columns, and what they add up to: all of them, or those of each service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.ledger.figures import RateSum

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

State = Literal["reporting", "late", "silent"]
UNSENT = "What sends the counters of these hosts leaves it out: their findings `counters-not-sent` say what to set."
STATES: tuple[State, ...] = ("reporting", "late", "silent")


@dataclass(frozen=True, slots=True)
class Amount:
    """What hosts counted in their newest hour [n]: NaN where it is not counted, with its seconds and intervals."""

    total: Floats
    seconds: Floats
    intervals: Floats


@dataclass(frozen=True)
class HostColumns:
    """n hosts by name, then id, each with the row that the workers keep of it.

    `states` are places in `STATES`. `summed`: there is such a row; without it the columns below say nothing.
    `fresh`: its ledger rows count as new; `verdicts` are places in `words`, those of rows that are not fresh
    `not_known`. `by_others`: not an agent of ours but another program sends its counters. `memory_bytes` is -1 where it
    is not known. `page_bytes` is NaN where it is not known. `amounts` are by name.
    """

    host_ids: Ints
    states: Ints
    simulated: Bools
    imported: Bools
    retired: Bools
    summed: Bools
    fresh: Bools
    broken: Bools
    one_tier: Bools
    tiering_off: Bools
    by_others: Bools
    memory_bytes: Ints
    verdicts: Ints
    words: tuple[str, ...]
    starts_s: Floats
    ends_s: Floats
    page_bytes: Floats
    amounts: Mapping[str, Amount]

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.host_ids)

    @cached_property
    def _sorted_ids(self) -> Ints:
        return self.host_ids[self._order]

    def __len__(self) -> int:
        return len(self.host_ids)

    def of(self, places: Ints) -> "HostColumns":
        """The hosts at these places."""
        columns = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("words", "amounts")}
        amounts = {
            name: Amount(one.total[places], one.seconds[places], one.intervals[places])
            for name, one in self.amounts.items()
        }
        return HostColumns(
            **{name: column[places] for name, column in columns.items()}, words=self.words, amounts=amounts
        )

    def in_bytes(self, names: Sequence[str]) -> "HostColumns":
        """The same with these amounts, which are in pages, in bytes."""
        changed = {
            name: replace(self.amounts[name], total=self.amounts[name].total * self.page_bytes) for name in names
        }
        return replace(self, amounts={**self.amounts, **changed})

    def has_verdict(self, word: str) -> Bools:
        """Which hosts have this verdict."""
        return np.asarray(self.verdicts == self.words.index(word), np.bool_)

    def places(self, host_ids: Ints) -> Ints:
        """Where these hosts are [k], -1 for those that are not."""
        if not len(self):
            return np.full(len(host_ids), -1)
        found = self._order[np.minimum(np.searchsorted(self._sorted_ids, host_ids), len(self) - 1)]
        return np.where(self.host_ids[found] == host_ids, found, -1)

    def add_up(self, names: Sequence[str], places: Ints) -> list[RateSum]:
        """Rates of the hosts at these places together, in the order of `names`."""
        fresh = places[self.fresh[places]]
        broken = bool(self.broken[fresh].any())
        return [self._sum(self.amounts[name], fresh, broken=broken) for name in names]

    def _sum(self, amount: Amount, fresh: Ints, *, broken: bool) -> RateSum:
        at = fresh[np.isfinite(amount.total[fresh]) & (amount.seconds[fresh] > 0)]
        if not len(at):
            unsent = UNSENT if self.by_others[fresh].any() else None
            return RateSum(n_hosts=len(fresh), broken=broken, unsent=unsent)
        total, seconds = amount.total[at], amount.seconds[at]
        return RateSum(
            n_hosts=len(fresh),
            n_known=len(at),
            per_s=float(np.maximum(total / seconds, 0).sum()),
            total=float(total.sum()),
            seconds=float(seconds.sum()),
            intervals=int(amount.intervals[at].sum()),
            start_s=float(self.starts_s[at].min()),
            end_s=float(self.ends_s[at].max()),
            broken=broken,
        )
