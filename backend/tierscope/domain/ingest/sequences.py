"""Sequence numbers of a stream: which are stored, so that each batch is stored once.

State is the next expected number and the gaps below it. It grows with gaps, not with batches.
"""

from dataclasses import dataclass
from typing import Literal

Decision = Literal["accepted", "duplicate", "too_many_gaps"]

MAX_GAPS = 1024
"""A spool that drops its oldest batches leaves one gap per outage; more than this is not a spool."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """All numbers below `next_seq` are stored, except those in `gaps`: disjoint half-open ranges, ascending."""

    next_seq: int = 0
    gaps: tuple[tuple[int, int], ...] = ()

    def take(self, seq: int) -> tuple[Decision, "Sequence"]:
        """Returns what to do with `seq`, and the state once that is done."""
        if seq >= self.next_seq:
            if seq == self.next_seq:
                return "accepted", Sequence(seq + 1, self.gaps)
            if len(self.gaps) >= MAX_GAPS:
                return "too_many_gaps", self
            return "accepted", Sequence(seq + 1, (*self.gaps, (self.next_seq, seq)))
        for place, (low, high) in enumerate(self.gaps):
            if low <= seq < high:
                parts = tuple(part for part in ((low, seq), (seq + 1, high)) if part[0] < part[1])
                if len(self.gaps) - 1 + len(parts) > MAX_GAPS:
                    return "too_many_gaps", self
                return "accepted", Sequence(self.next_seq, self.gaps[:place] + parts + self.gaps[place + 1 :])
        return "duplicate", self
